"""Releases of the peers that are compared in one run: Debian's, and the newest where scripts/newest_peer has fetched it."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Remote:
    """An object in the process of a release; its methods are called there."""

    def __init__(self, release, number):
        self.release, self.number = release, number

    def __getattr__(self, method):
        return lambda *arguments: self.release.ask(of=self.number, call=method, arguments=arguments)


class Release:
    def __init__(self, python):
        # The number of threads, OMP_NUM_THREADS, is inherited.
        self.process = subprocess.Popen([python, HERE / "peer_process.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.versions = self.call("versions")
        self.name = f"pyFAI {self.versions['pyFAI']}"

    def ask(self, **request):
        print(json.dumps(request, default=str), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"the process of {self.process.args[0]} has ended"}
        if "error" in answer:
            raise SystemExit(f"compare_peers: error: {answer['error']}")
        return answer["value"]

    def call(self, function, *arguments):
        return self.ask(call=function, arguments=arguments)

    def make(self, kind, *arguments):
        return Remote(self, self.ask(make=kind, arguments=arguments))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def all_releases(newest_peer):
    """Debian's first: the promises are about it."""
    releases = [Release(sys.executable)]
    if newest_peer is not None:
        releases.append(Release(newest_peer / "bin" / "python"))
    return releases
