"""Combinations of detector, geometry, unit, splitting, mask, corrections and ranges that are compared with pyFAI."""

import dataclasses

import numpy


@dataclasses.dataclass(frozen=True)
class Case:
    detector: str
    place: str  # key of PLACES
    unit: str
    split: str
    npt: int = 500
    mask: bool = False
    dark: bool = False
    flat: bool = False
    solid_angle: bool = True
    polarization: float | None = None
    normalization: float | None = None
    radial: tuple | None = None  # as shares of the detector's full range
    azimuth: tuple | None = None  # degrees
    dummies: bool = False

    def __str__(self):
        extras = [name for name in ("mask", "dark", "flat", "dummies") if getattr(self, name)]
        extras += [] if self.solid_angle else ["no solid angle"]
        extras += [] if self.polarization is None else [f"P {self.polarization}"]
        extras += [] if self.normalization is None else [f"/ {self.normalization}"]
        extras += [] if self.radial is None else [f"radial {self.radial}"]
        extras += [] if self.azimuth is None else [f"azimuth {self.azimuth}"]
        return f"{self.detector} {self.place} {self.unit} {self.split} {self.npt} " + ", ".join(extras)

    @property
    def crosses_cut(self):
        return self.azimuth is not None and (self.azimuth[1] > 180 or self.azimuth[1] < self.azimuth[0])


# distance, PONI as shares of the detector's size, rot1, rot2, rot3
PLACES = {
    "centred": (0.15, (0.51, 0.48), (0.0, 0.0, 0.0)),
    "corner": (0.20, (0.03, 0.06), (0.0, 0.0, 0.0)),
    "outside": (0.10, (-0.7, 0.3), (0.0, 0.0, 0.0)),
    "tilted": (0.12, (0.4, 0.6), (0.1, -0.2, 0.3)),
    "turned": (0.25, (0.5, 0.5), (-0.35, 0.25, -1.1)),
    "far": (2.0, (0.5, 0.5), (0.01, -0.005, 0.0)),
}

UNITS = ["r_m", "r_mm", "2th_deg", "2th_rad", "q_nm^-1", "q_A^-1"]
SPLITS = ["no", "bbox", "full"]
DETECTORS = ["Pilatus100k", "Pilatus300k", "Eiger500k", "Pilatus300kw", "generic", "PilatusCdTe300k"]
WAVELENGTH = 0.9e-10


def all_cases():
    cases = []
    # Every unit with every splitting, detectors and places taking turns.
    for i, unit in enumerate(UNITS):
        for j, split in enumerate(SPLITS):
            place = list(PLACES)[(i + 2 * j) % len(PLACES)]
            cases.append(Case(DETECTORS[(i + j) % len(DETECTORS)], place, unit, split))
    # Every place with every splitting, with corrections.
    for i, place in enumerate(PLACES):
        for j, split in enumerate(SPLITS):
            cases.append(
                Case(DETECTORS[(2 * i + j) % 6], place, UNITS[(i + j) % 6], split, npt=300 + 37 * i,
                     mask=(i + j) % 2 == 0, dark=(i + j) % 3 == 0, flat=j == 1 or i == 2, dummies=i % 2 == 0,
                     polarization=[0.99, None, -0.5, 0.0, 0.95, 0.99][i], solid_angle=i != 3,
                     normalization=None if i % 2 else 12.5 + i)
            )
    # Ranges.
    windows = [(-30, 100), (-180, 0), (0, 180), (-180, 180), (95.5, 97), (170, -150), (100, 200)]
    for i, window in enumerate(windows):
        for j, split in enumerate(SPLITS):
            cases.append(
                Case(["Pilatus100k", "Pilatus300k"][i % 2], ["centred", "tilted"][i % 2], UNITS[(2 + i) % 6], split, npt=200,
                     azimuth=window, polarization=0.9 if j else None)
            )
    for j, split in enumerate(SPLITS):
        cases.append(Case("Pilatus300k", "tilted", "2th_deg", split, radial=(0.2, 0.7)))
        cases.append(Case("Eiger500k", "centred", "q_A^-1", split, radial=(0.0, 0.5), azimuth=(-60, 45)))
        cases.append(Case("Pilatus100k", "outside", "q_nm^-1", split, npt=50, radial=(0.5, 1.5)))
    # Very few, and more bins than pixels along the radius.
    for split in SPLITS:
        cases.append(Case("Pilatus100k", "centred", "2th_deg", split, npt=1))
        cases.append(Case("Pilatus100k", "corner", "q_A^-1", split, npt=4000))
    # Full-size detectors.
    cases.append(Case("Pilatus1M", "centred", "q_A^-1", "bbox", npt=1000, polarization=0.99))
    cases.append(Case("Pilatus2M", "tilted", "2th_deg", "bbox", npt=1000, polarization=0.99, mask=True))
    cases.append(Case("Eiger4M", "far", "q_nm^-1", "bbox", npt=2000))
    cases.append(Case("Eiger1M", "turned", "r_mm", "full", npt=800))
    return cases


def make_integrator(case):
    from pyFAI import detectors
    from pyFAI.azimuthalIntegrator import AzimuthalIntegrator

    if case.detector == "generic":
        detector = detectors.Detector(pixel1=1.1e-4, pixel2=0.9e-4, max_shape=(400, 517))
    else:
        detector = detectors.detector_factory(case.detector)
    distance, (share1, share2), (rot1, rot2, rot3) = PLACES[case.place]
    rows, cols = detector.max_shape
    return AzimuthalIntegrator(
        dist=distance, poni1=share1 * rows * detector.pixel1, poni2=share2 * cols * detector.pixel2,
        rot1=rot1, rot2=rot2, rot3=rot3, detector=detector, wavelength=WAVELENGTH)


def make_image(case, integrator, rng):
    """Counts of a powder: rings, background, Poisson noise; gaps and, if asked, dead pixels as Dectris marks them."""
    shape = integrator.detector.max_shape
    two_theta = integrator.twoThetaArray(shape)
    spread = two_theta.max() - two_theta.min()
    mean = 40 + 400 * numpy.sin(two_theta / spread * 60) ** 8
    image = rng.poisson(mean).astype(numpy.int32)
    gaps = integrator.detector.mask
    if gaps is not None:
        image[gaps.astype(bool)] = -1
    if case.dummies and case.detector != "generic":
        image.ravel()[rng.integers(0, image.size, 200)] = -2
    return image


def turned_half(integrator):
    """The same experiment with all azimuths moved by 180 degrees: what crossed the cut does so no more."""
    from pyFAI.azimuthalIntegrator import AzimuthalIntegrator

    return AzimuthalIntegrator(
        dist=integrator.dist, poni1=integrator.poni1, poni2=integrator.poni2, rot1=integrator.rot1,
        rot2=integrator.rot2, rot3=integrator.rot3 + numpy.pi, detector=integrator.detector,
        wavelength=integrator.wavelength)


def reach_of_beam_pixel(integrator, unit):
    """Largest radius of the pixel that holds the beam, which is no polygon in radius and azimuth; None without one."""
    from pyFAI import units

    unit = units.to_unit(unit)
    corners = integrator.array_from_unit(integrator.detector.max_shape, "corner", unit, scale=False)
    azimuth = numpy.sort(corners[..., 1], axis=-1).astype(float)
    gaps = numpy.diff(numpy.concatenate((azimuth, azimuth[..., :1] + 2 * numpy.pi), axis=-1), axis=-1)
    holds_beam = gaps.max(axis=-1) < numpy.pi
    return float(corners[holds_beam][..., 0].max()) * unit.scale if holds_beam.any() else None


def is_dectris(case):
    return case.detector != "generic"


def full_range(integrator, unit):
    """Radial extent of the detector in the unit, for ranges given as shares of it."""
    from pyFAI import units

    unit = units.to_unit(unit)
    values = integrator.array_from_unit(integrator.detector.max_shape, "center", unit, scale=False) * unit.scale
    return float(values.min()), float(values.max())


def radial_range(case, integrator):
    if case.radial is None:
        return None
    low, high = full_range(integrator, case.unit)
    return tuple(low + share * (high - low) for share in case.radial)
