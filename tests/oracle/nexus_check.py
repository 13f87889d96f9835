"""Checks a file against the NeXus application definitions NXazint1d and NXazint2d.

Written from the definition, not from the program that writes the files. `check(path)` returns the list of
what is wrong; as a program it prints the list and exits with 1 if there is any.
"""

import re
import sys

import h5py
import numpy

ANGLE = {"deg", "degree", "degrees", "rad", "radian", "radians"}
PER_LENGTH = {"1/angstrom", "1/nm", "1/m", "angstrom^-1", "nm^-1", "m^-1", "1/Angstrom"}
UNITS_OF = {"2theta": ANGLE, "q": PER_LENGTH, "r": {"m", "mm"}}
ISO_8601 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def text(value):
    """Text of a scalar that h5py gives as bytes or str, None for anything else."""
    if isinstance(value, h5py.Dataset):
        if value.shape not in ((), (1,)) or h5py.check_string_dtype(value.dtype) is None:
            return None
        value = value[()] if value.shape == () else value[0]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace").rstrip("\0")
    return value if isinstance(value, str) else None


def texts(value):
    return [text(item) for item in numpy.atleast_1d(value)] if value is not None else None


class Check:
    def __init__(self, file):
        self.file = file
        self.problems = []

    def fault(self, item, what):
        self.problems.append(f"{item.name if hasattr(item, 'name') else item}: {what}")

    def groups(self, parent, nx_class):
        return [item for item in parent.values()
                if isinstance(item, h5py.Group) and text(item.attrs.get("NX_class")) == nx_class]

    def group(self, parent, nx_class, name=None):
        """The one group of a class, which must exist."""
        found = [g for g in self.groups(parent, nx_class) if name is None or g.name.endswith("/" + name)]
        if not found:
            self.fault(parent, f"has no {nx_class}" + (f" of the name {name}" if name else ""))
            return None
        return found[0]

    def dataset(self, parent, name):
        item = parent.get(name)
        if not isinstance(item, h5py.Dataset):
            self.fault(parent, f"has no field {name}")
            return None
        return item

    def words(self, parent, name, allowed=None):
        item = self.dataset(parent, name)
        if item is None:
            return None
        value = text(item)
        if value is None:
            self.fault(item, "is not text")
        elif not value:
            self.fault(item, "is empty")
        elif allowed is not None and value not in allowed:
            self.fault(item, f"is {value!r}, not one of {sorted(allowed)}")
        return value

    def boolean(self, parent, name, required=True):
        if name not in parent and not required:
            return
        item = self.dataset(parent, name)
        if item is not None and (item.shape != () or item.dtype.kind not in "b" and item.dtype != numpy.int8):
            self.fault(item, f"is not a boolean but {item.dtype} {item.shape}")

    def attribute(self, item, name, allowed):
        value = text(item.attrs.get(name))
        if value not in allowed:
            self.fault(item, f"@{name} is {value!r}, not one of {sorted(allowed)}")
        return value

    def numbers(self, parent, name, shape, required=True):
        if name not in parent and not required:
            return None
        item = self.dataset(parent, name)
        if item is None:
            return None
        if item.dtype.kind not in "iuf":
            self.fault(item, f"is not a number but {item.dtype}")
        if shape is not None and item.shape != shape:
            self.fault(item, f"has the shape {item.shape}, not {shape}")
        return item

    def quantity(self, parent, name, units):
        item = self.numbers(parent, name, ())
        if item is not None:
            self.attribute(item, "units", {units})
            if not item[()] > 0:
                self.fault(item, f"is {item[()]}")
        return item

    def run(self):
        entry = self.default_entry()
        if entry is None:
            return
        self.cake = self.words(entry, "definition", {"NXazint1d", "NXazint2d"}) == "NXazint2d"
        for name in ("solid_angle_applied", "polarization_applied", "normalization_applied"):
            self.boolean(entry, name)
        self.boolean(entry, "monitor_applied", required=False)
        for name in ("start_time", "end_time"):
            if name in entry and not ISO_8601.fullmatch(text(entry[name]) or ""):
                self.fault(entry[name], "is not an ISO 8601 time")
        self.instrument(entry)
        self.reduction(entry)
        self.data(entry)

    def default_entry(self):
        """The default chain: root -> entry -> data, as viewers follow it."""
        name = text(self.file.attrs.get("default"))
        entry = self.file.get(name) if name else None
        if entry is None or text(entry.attrs.get("NX_class")) != "NXentry":
            self.fault("/", f"@default is {name!r}, which is no NXentry")
            entry = self.group(self.file, "NXentry")
        if entry is None:
            return None
        name = text(entry.attrs.get("default"))
        data = entry.get(name) if name else None
        if data is None or text(data.attrs.get("NX_class")) != "NXdata":
            self.fault(entry, f"@default is {name!r}, which is no NXdata")
        return entry

    def instrument(self, entry):
        instrument = self.group(entry, "NXinstrument")
        if instrument is None:
            return
        self.words(instrument, "name")
        source = self.group(instrument, "NXsource")
        if source is not None:
            for name in ("name", "type", "probe"):
                self.words(source, name)
        monochromator = self.group(instrument, "NXmonochromator")
        if monochromator is not None:
            wavelength = self.quantity(monochromator, "wavelength", "angstrom")
            energy = self.quantity(monochromator, "energy", "keV")
            if wavelength is not None and energy is not None:
                product = wavelength[()] * energy[()]
                if abs(product / 12.398419843320026 - 1) > 1e-9:
                    self.fault(monochromator, f"wavelength * energy is {product} keV angstrom")

    def reduction(self, entry):
        reduction = self.group(entry, "NXprocess", "reduction")
        if reduction is None:
            return
        for name in ("program", "version", "reference"):
            self.words(reduction, name)
        date = self.words(reduction, "date")
        if date and not ISO_8601.fullmatch(date):
            self.fault(reduction, f"date is {date!r}, not ISO 8601")
        parameters = self.group(reduction, "NXparameters", "input")
        if parameters is not None and len(parameters) == 0:
            self.fault(parameters, "is empty")

    def data(self, entry):
        data = self.group(entry, "NXdata")
        if data is None:
            return
        self.attribute(data, "signal", {"I"})
        self.attribute(data, "interpretation", {"image" if self.cake else "spectrum"})
        axes = texts(data.attrs.get("axes"))
        expected = [".", "azimuthal_axis", "radial_axis"] if self.cake else [".", "radial_axis"]
        if axes != expected:
            self.fault(data, f"@axes is {axes}, not {expected}")
        signal = self.numbers(data, "I", None)
        if signal is None:
            return
        if signal.ndim != len(expected):
            self.fault(signal, f"has {signal.ndim} dimensions, not {len(expected)}")
            return
        bins = signal.shape[1:]
        self.attribute(signal, "units", {"arbitrary units"})
        self.attribute(signal, "long_name", {"intensity"})
        errors = self.numbers(data, "I_errors", signal.shape, required=False)
        if errors is not None:
            self.attribute(errors, "units", {"arbitrary units"})
            self.attribute(errors, "long_name", {"estimated intensity error"})
        self.axis(data, "radial_axis", bins[-1], UNITS_OF)
        if self.cake:
            self.axis(data, "azimuthal_axis", bins[0], {"chi": ANGLE})
        norm = self.numbers(data, "norm", bins, required=False)
        if norm is not None:
            self.attribute(norm, "units", {"arbitrary units"})
            self.attribute(norm, "long_name", {"effective number of pixels contributing to the corresponding bin"})

    def axis(self, data, field, bins, units_of):
        axis = self.numbers(data, field, (bins,))
        if axis is None:
            return
        name = self.attribute(axis, "long_name", set(units_of))
        units = self.attribute(axis, "units", units_of.get(name, ANGLE | PER_LENGTH))
        centres = axis[()]
        if not (numpy.diff(centres) > 0).all():
            self.fault(axis, "does not increase")
        edges = self.numbers(data, f"{field}_edges", (bins + 1,), required=False)
        if edges is None or edges.shape != (bins + 1,):
            return
        self.attribute(edges, "long_name", {f"{name} bin edges"})
        self.attribute(edges, "units", {units})
        limits = edges[()]
        if centres.shape == (bins,) and not ((limits[:-1] < centres) & (centres < limits[1:])).all():
            self.fault(edges, "do not enclose the bins' centres")


def check(path):
    """What is wrong with the file, as a list of sentences; empty if it conforms."""
    with h5py.File(path, "r") as file:
        checker = Check(file)
        checker.run()
        return checker.problems


if __name__ == "__main__":
    faults = [f"{path}{problem}" for path in sys.argv[1:] for problem in check(path)]
    print("\n".join(faults) if faults else "conforms to its definition")
    sys.exit(1 if faults else 0)
