"""Ways to do the same thing take turns, so that what the machine does besides hits all of them."""

import sys


class Turns:
    """Ways to do the same thing, each a function that returns seconds a frame; they take turns."""

    def __init__(self):
        self.ways = {}
        self.samples = {}

    def add(self, name, way):
        self.ways[name] = way
        self.samples[name] = []

    def take(self, rounds):
        names = list(self.ways)
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
            shift = number % len(names)
            for name in names[shift:] + names[:shift]:
                self.samples[name].append(self.ways[name]())
