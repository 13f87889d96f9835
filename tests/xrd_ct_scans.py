"""XRD-CT scans of discs, as frames of a detector with a single row of pixels, each of which is a bin."""

import numpy

PONI = """poni_version: 2
Detector: Detector
Detector_config: {{"pixel1": 0.0001, "pixel2": 0.0001, "max_shape": [1, {bins}], "orientation": 3}}
Distance: 0.1
Poni1: 0.00005
Poni2: 0
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""

# x, y, radius in steps, and the pattern: bins of a peak, height. The later of two discs adds to the earlier.
DISCS = [(0.5, -1.0, 13.0, 2, 500.0), (5.0, 3.0, 4.0, 5, 900.0), (-6.0, 4.0, 3.0, 7, 1200.0)]
BINS = 10


def patterns(bins=BINS):
    k = numpy.arange(bins)
    return numpy.array([50 + height * numpy.exp(-((k - peak * bins / BINS) / (bins / BINS)) ** 2) for *_, peak, height in DISCS])


def chords(degrees, t):
    """Of each point of a scan, the length of the beam in each disc; t: steps from the axis."""
    a = numpy.deg2rad(degrees)
    return numpy.stack([2 * numpy.sqrt(numpy.clip(radius**2 - (t - x * numpy.cos(a) + y * numpy.sin(a)) ** 2, 0, None))
                        for x, y, radius, *_ in DISCS], axis=-1)


def raster(angles=45, positions=40, angle_range=180.0, step=0.02, first=-0.4):
    """The angle and the position of each frame, angle by angle."""
    degrees = numpy.arange(angles) * angle_range / angles
    places = first + step * numpy.arange(positions)
    return numpy.repeat(degrees, positions), numpy.tile(places, angles)


def intensities(degrees, places, centre=0.0, step=0.02, bins=BINS, air=20.0):
    return numpy.rint(chords(degrees, (places - centre) / step) @ patterns(bins) + air)


def write_table(path, columns):
    lines = [",".join(columns)]
    lines += [",".join("" if numpy.isnan(v) else repr(float(v)) for v in row) for row in zip(*columns.values())]
    path.write_text("\n".join(lines) + "\n")
    return path


def integrate(annulus, folder, values, columns, name="scan", bins=None, options=()):
    """values: [frame][bin], whole numbers; below 0 a pixel is invalid. columns: "rot [deg]" and so on."""
    bins = bins or values.shape[1]
    poni = folder / f"{name}.poni"
    poni.write_text(PONI.format(bins=values.shape[1]))
    numpy.save(folder / f"{name}.npy", values.astype(numpy.int32)[:, None, :])
    arguments = ["integrate", "-p", poni, "-n", bins, "-u", "r_mm", "--radial-range", 0, bins * 0.1, "--split", "no",
                 "--no-solid-angle", "--dummy", -1, "-o", folder / f"{name}.nxs", "-q"]
    if columns:
        table = write_table(folder / f"{name}.csv", columns)
        for column in columns:
            short = column.split(" ")[0]
            arguments += ["--column", f"{short}={table}#{short}"]
    done = annulus(*arguments, *options, folder / f"{name}.npy")
    assert done.returncode in (0, 7), done.stderr
    return folder / f"{name}.nxs"


def back_project(sinogram, degrees, axis, size=None):
    """[angle][position][bin] -> [y][x][bin] by the definition in docs/tomography.md, in double precision: the ramp
    filter in real space, linear interpolation, weights by the spacing of directions that go once round half a turn."""
    angles, positions, bins = sinogram.shape
    size = size or positions
    c = size // 2
    folded = numpy.sort(numpy.asarray(degrees) % 180)
    gaps = numpy.diff(numpy.append(folded, folded[0] + 180))
    weights = numpy.deg2rad((gaps + numpy.roll(gaps, 1)) / 2)[numpy.argsort(numpy.argsort(numpy.asarray(degrees) % 180))]
    margin = size
    d = numpy.arange(-2 * positions - 2 * margin, 2 * positions + 2 * margin + 1)
    ramp = numpy.where(d % 2 == 1, -2 / (numpy.pi * numpy.where(d == 0, 1, d)) ** 2, 0.0)
    ramp[d == 0] = 0.5
    y, x = numpy.mgrid[:size, :size] - c
    image = numpy.zeros((size, size, bins))
    places = numpy.arange(-margin, positions + margin)
    matrix = ramp[(places[:, None] - numpy.arange(positions)[None, :]) + 2 * positions + 2 * margin]
    for angle in range(angles):
        a = numpy.deg2rad(degrees[angle])
        t = x * numpy.cos(a) - y * numpy.sin(a) + axis + margin
        filtered = matrix @ sinogram[angle].astype(float)
        low = numpy.floor(t).astype(int)
        part = (t - low)[..., None]
        image += weights[angle] / 2 * ((1 - part) * filtered[low] + part * filtered[low + 1])
    image[x**2 + y**2 > c**2] = 0
    return image
