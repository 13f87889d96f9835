"""Plays v++, vitis-run and emconfigutil for test_targets.py: notes its command line and leaves the files that are due.

STAND_IN_FOLDER has what it prints (<stage>.log) and copies (csynth.rpt, csynth.xml), and gets calls.json.
STAND_IN_FAULT makes it misbehave in a stage: "synth=exit" ends with 1 after a good log, "synth=bad" prints the log
bad_synth.log, "synth=lazy" leaves no files.
"""

import json
import os
import pathlib
import shutil
import sys

FOLDER = pathlib.Path(os.environ["STAND_IN_FOLDER"])


def option(name):
    return sys.argv[sys.argv.index(name) + 1]


def stage_of_call():
    tool = pathlib.Path(sys.argv[0]).name
    if tool == "vitis-run":
        return "csim" if "--csim" in sys.argv else "cosim"
    if tool == "emconfigutil":
        return "emconfig"
    return "link" if "--link" in sys.argv else "synth"


def leave_files(stage):
    if stage == "synth":
        reports = pathlib.Path(option("--work_dir")) / "hls" / "syn" / "report"
        reports.mkdir(parents=True, exist_ok=True)
        for name in ("csynth.rpt", "csynth.xml"):
            shutil.copy(FOLDER / name, reports)
        config = pathlib.Path(option("--config")).read_text()
        output = next(line.split("=")[1] for line in config.splitlines() if line.startswith("package.output.file="))
        pathlib.Path(output).write_text("xo")
    elif stage == "link":
        assert pathlib.Path(sys.argv[-1]).read_text() == "xo", "links what was synthesised"
        pathlib.Path(option("--output")).write_text(option("--target"))
    elif stage == "cosim":
        assert (pathlib.Path(option("--work_dir")) / "hls").is_dir(), "has the synthesised RTL"


def main():
    if "--version" in sys.argv:
        print(f"\n****** v++ v{os.environ.get('STAND_IN_VERSION', '2023.2')} (64-bit)\n")
        return 0
    stage = stage_of_call()
    with open(FOLDER / "calls.json", "a", encoding="utf-8") as calls:
        calls.write(json.dumps([stage, pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]) + "\n")
    fault = dict([os.environ.get("STAND_IN_FAULT", "=").split("=")]).get(stage)
    if stage != "emconfig":
        print((FOLDER / f"{'bad_' if fault == 'bad' else ''}{stage}.log").read_text(), end="")
    if fault != "lazy":
        leave_files(stage)
    return 1 if fault == "exit" else 0


if __name__ == "__main__":
    sys.exit(main())
