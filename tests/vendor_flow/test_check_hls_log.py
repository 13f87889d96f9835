"""scripts/check_hls_log accepts sample logs of a good run and refuses every fault, in every place.

The samples in logs/ were written for this purpose in the form of the tools' messages; no tool printed them.
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent
PROJECT = FOLDER.parents[1]
LOGS = FOLDER / "logs"
TOP = FOLDER / "sample" / "sample_kernel.cpp"
GOOD_SYNTH = sorted(LOGS.glob("good_synth_*.log"))
SCRIPT = PROJECT / "scripts" / "check_hls_log"

# What a planted line must be called. Wordings of several versions; the last of each group are in no version and
# stand for those to come.
PLANTED = [
    ("initiation interval", "WARNING: [HLS 200-880] The II Violation in module 'm' (loop 'l'): Unable to enforce a "
                            "carried dependence constraint (II = 1, distance = 1, offset = 1)"),
    ("initiation interval", "WARNING: [HLS 200-885] The II Violation in module 'm' (loop 'l'): Unable to schedule "
                            "'load' "
                            "operation on array 'sums' due to limited memory ports (II = 1)."),
    ("initiation interval", "WARNING: [HLS 200-878] Unable to schedule the loop exit test ('icmp' operation) in the "
                            "first "
                            "pipeline iteration (II = 1 cycles)."),
    ("initiation interval", "WARNING: [SCHED 204-68] The II Violation in module 'm' (Loop: l): Unable to enforce"),
    ("initiation interval", "WARNING: [HLS 214-281] Estimating pipelined loop 'l' (a.hpp:3:5) in function 'f' with "
                            "estimated II increased from target initiation interval 1 to 2 because of limited port"),
    ("initiation interval", "INFO: [HLS 200-1470] Pipelining result : Target II = 1, Final II = 2, Depth = 9, loop "
                            "'l'"),
    ("initiation interval", "INFO: [HLS 200-1470] Pipelining result : Target II = NA, Final II = 3, Depth = 9, loop "
                            "'l'"),
    ("initiation interval", "INFO: [SCHED 204-61] Pipelining result: Target II: 1, Final II: 16, Depth: 6."),
    ("initiation interval", "WARNING: [HLS 999-1] II violation in loop 'l'"),
    ("timing", "WARNING: [HLS 200-871] Estimated clock period (2.911 ns) exceeds the target (target clock period: "
               "3.333 "
               "ns, clock uncertainty: 0.900 ns, effective delay budget: 2.433 ns)."),
    ("timing", "WARNING: [HLS 200-1015] Estimated delay (3.479ns) of 'mul' operation 32 bit ('m', a.cpp:9) exceeds "
               "the "
               "target cycle time (target cycle time: 3.330ns)."),
    ("timing", "WARNING: [HLS 200-1016] The critical path in module 'm' consists of the following:"),
    ("timing", "WARNING: [HLS 200-886] Cannot meet target clock period in 'mul' operation 32 bit to honor Latency"),
    ("timing", "WARNING: [SCHED 204-21] Estimated clock period (4.89ns) exceeds the target"),
    ("timing", "INFO: [HLS 200-789] **** Estimated Fmax: 299.99 MHz"),
    ("timing", "WARNING: [HLS 999-2] Timing is not met in module 'm'"),
    ("dropped pragma", "WARNING: [HLS 207-5560] Array_Partition/Array_Reshape pragma is ignored, because variable "
                       "is scalar"),
    ("dropped pragma", "WARNING: [HLS 207-5569] unexpected pragma parameter 'dpeth' (a.cpp:15:42)"),
    ("dropped pragma", "WARNING: [HLS 214-187] Cannot unroll loop 'l' (a.cpp:110:44) in function 'f' as it has a "
                       "variable "
                       "trip count"),
    ("dropped pragma", "WARNING: [HLS 214-189] Pipeline directive for loop 'l' in function 'f' has been removed "
                       "because "
                       "the loop is unrolled completely"),
    ("dropped pragma", "WARNING: [HLS 214-340] The resource pragma (bind_storage) on top-level function argument, in "
                       "'call' is unsupported, please use INTERFACE pragma instead"),
    ("dropped pragma", "WARNING: [HLS 214-450] Ignore address on register port 'table0' (a.cpp:20:0)"),
    ("dropped pragma", "WARNING: [BIND 205-102] The specified resource core for memory 'sums' will be ignored if a "
                       "simpler one can be used."),
    ("dropped pragma", "WARNING: [HLS 200-1986] Could not apply TOP directive, invalid function, label, or variable"),
    ("dropped pragma", "a.hpp:12:9: warning: unknown pragma ignored [-Wunknown-pragmas]"),
    ("dropped pragma", "WARNING: [HLS 999-3] The dependence on variable 'sums' could not be honored"),
    ("dropped pragma", "INFO: [HLS 999-4] Dropping pragma STREAM of 'words': unknown option"),
    ("loop not pipelined", "WARNING: [SCHED 204-65] Unable to satisfy pipeline directive for function 'f': contains "
                           "subloop(s) that are not unrolled."),
    ("loop not pipelined", "INFO: [SCHED 204-61] Pipelining loop 'begun_and_never_ended'."),
    ("loop not pipelined", "WARNING: [HLS 999-5] Could not pipeline loop 'l'"),
    ("dataflow", "WARNING: [HLS 200-471] Dataflow form checks found 1 issue(s) in file a.cpp"),
    ("dataflow", "WARNING: [HLS 200-805] An internal stream 'words' with default size can result in deadlock."),
    ("error", "ERROR: [HLS 200-70] Pre-synthesis failed."),
    ("error", "CRITICAL WARNING: [HLS 200-1957] something that must be looked at"),
    ("error", "Abnormal program termination (11)"),
]


def load_script():
    loader = importlib.machinery.SourceFileLoader("check_hls_log", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_hls_log", loader))
    loader.exec_module(module)
    return module


MODULE = load_script()
WANTED = MODULE.pipelined_loops(TOP)


def check(stage, *files):
    """The faults that the script finds, as (file, line, rule); in this process, since there are many."""
    return [(str(fault.path), fault.line, fault.rule) for path in files
            for fault in MODULE.check_file(pathlib.Path(path), stage, WANTED, 300.0)]


def run_script(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)


def stage_of(path):
    return next((stage for stage in ("csim", "cosim", "link") if f"_{stage}" in path.name), "synth")


@pytest.mark.parametrize("path", sorted(LOGS.glob("good_*")), ids=lambda path: path.name)
def test_good_runs_pass(path):
    assert check(stage_of(path), path) == []


EXPECTED = {"interval": "initiation interval", "timing": "timing", "pragma": "dropped pragma", "dataflow": "dataflow",
            "unpipelined": "loop not pipelined", "error": "error", "failed": "error", "deadlock": "error",
            "truncated": "no evidence", "empty": "no evidence", "setup": "no evidence"}


@pytest.mark.parametrize("path", sorted(LOGS.glob("bad_*")), ids=lambda path: path.name)
def test_bad_runs_fail_for_their_reason(path):
    reason = next(EXPECTED[word] for word in re.split(r"[_.]", path.name) if word in EXPECTED)
    assert reason in {rule for _, _, rule in check(stage_of(path), path)}


def test_there_is_a_bad_sample_for_every_reason():
    words = {word for path in LOGS.glob("bad_*") for word in re.split(r"[_.]", path.name)}
    assert set(EXPECTED) <= words
    assert len(GOOD_SYNTH) >= 3


@pytest.mark.parametrize("good", GOOD_SYNTH, ids=lambda path: path.name)
def test_a_fault_planted_anywhere_is_found_where_it_is(good, tmp_path):
    lines = good.read_text().splitlines()
    places = [0, len(lines) // 3, 2 * len(lines) // 3, len(lines)]
    planted = {}
    for number, (rule, text) in enumerate(PLANTED):
        for place in places:
            path = tmp_path / f"{number}_{place}.log"
            path.write_text("\n".join(lines[:place] + [text] + lines[place:]) + "\n")
            planted[str(path)] = (place + 1, rule)
    found = {}
    for path, line, rule in check("synth", *planted):
        found.setdefault(path, set()).add((line, rule))
    missed = [(path, fault) for path, fault in planted.items() if fault not in found.get(path, ())]
    assert not missed


@pytest.mark.parametrize("good", GOOD_SYNTH, ids=lambda path: path.name)
def test_a_log_that_ends_early_never_passes(good, tmp_path):
    lines = good.read_text().splitlines()
    last = max(number for number, line in enumerate(lines) if "Finished Command csynth_design" in line)
    cuts = []
    for length in range(last + 1):
        cuts.append(tmp_path / f"{length}.log")
        cuts[-1].write_text("\n".join(lines[:length]))
    refused = {path for path, _, rule in check("synth", *cuts) if rule == "no evidence"}
    assert refused == {str(path) for path in cuts}


@pytest.mark.parametrize("good", GOOD_SYNTH, ids=lambda path: path.name)
def test_each_line_of_evidence_is_needed(good, tmp_path):
    lines = good.read_text().splitlines()
    needed = ["Finished Command csynth_design", "Loop Constraint Status", "Estimated Fmax", "Pipelining result"]
    for number, part in enumerate(needed):
        path = tmp_path / f"{number}.log"
        path.write_text("\n".join(line for line in lines if part not in line) + "\n")
        assert check("synth", path), part


def test_a_file_that_the_tool_did_not_write_is_a_fault(tmp_path):
    assert check("synth", GOOD_SYNTH[0], tmp_path / "csynth.rpt") == [(str(tmp_path / "csynth.rpt"), 0, "no evidence")]


def test_only_loops_of_called_stages_are_wanted(tmp_path):
    text = GOOD_SYNTH[0].read_text()
    assert "each_dropped" not in text  # drop_words is in the sources, but the top does not call it
    renamed = tmp_path / "renamed.log"
    renamed.write_text(text.replace("scale_words_3", "other_stage"))
    assert {rule for _, _, rule in check("synth", renamed)} == {"loop not pipelined"}


@pytest.mark.parametrize("kernel", ["reduce_bslz4", "reduce_byte_offset", "reduce_raw"])
def test_the_loops_of_the_real_kernels_are_wanted(kernel):
    top = PROJECT / "hls" / f"{kernel}.cpp"
    wanted = MODULE.pipelined_loops(top)
    body = top.read_text().split("#pragma HLS DATAFLOW")[1]
    stages = set(re.findall(r"^  (\w+)(?:<.*?>)?\(", body, re.M))
    assert len(stages) >= 8
    assert {want.function for want in wanted} == stages, "every stage has a pipelined loop"
    assert {want.interval for want in wanted} == {1}


def test_the_exit_code_and_the_lines_that_are_printed():
    good, bad = GOOD_SYNTH[0], LOGS / "bad_pragma.log"
    run = run_script("--stage", "synth", "--top", TOP, "--clock-mhz", "300", good, LOGS / "good_csynth.rpt")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"synth: no fault in {good.name}, good_csynth.rpt\n"
    run = run_script("--stage", "synth", good, bad)
    line = next(number for number, text in enumerate(bad.read_text().splitlines(), 1) if "207-5569" in text)
    assert (run.returncode, run.stderr) == (1, "")
    assert run.stdout.startswith(f"{bad}:{line}: dropped pragma: WARNING: [HLS 207-5569] unexpected pragma parameter")
    assert "1 fault(s)" in run.stdout


@pytest.mark.parametrize("text, reason", [
    (None, "no such file"),
    ("void f() {}\n", "calls no stage with a pipelined loop"),
    ("void f() {\n#pragma HLS PIPELINE II=1\n}\n", "not the first line of a loop with a label"),
])
def test_a_top_that_cannot_be_read_is_an_error_that_says_so(tmp_path, text, reason):
    top = tmp_path / "top.cpp"
    if text is not None:
        top.write_text(text)
    run = run_script("--stage", "synth", "--top", top, GOOD_SYNTH[0])
    assert run.returncode != 0
    assert str(top) in run.stderr and reason in run.stderr
