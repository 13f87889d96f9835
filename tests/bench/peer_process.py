"""The peers of one Python, as a process: requests come in as lines of JSON, answers go out the same way.

{"make": class, "arguments": [...]} makes an object of peers.py and answers with its number; {"of": number, "call": name,
"arguments": [...]} calls one of its methods, and without "of" a function of peers.py.
"""

import json
import os
import sys
import traceback

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print is no answer

import peers  # noqa: E402


def main():
    objects = []
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "make" in request:
                objects.append(getattr(peers, request["make"])(*request["arguments"]))
                value = len(objects) - 1
            else:
                subject = objects[request["of"]] if "of" in request else peers
                value = getattr(subject, request["call"])(*request["arguments"])
            answer = {"value": value}
        except Exception:  # whatever it is, the other side must hear of it
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
