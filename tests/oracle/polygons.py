"""Areas of polygons, clipped at lines across their axes."""


def clipped_area(polygon, low, high, axis):
    """The part of a polygon between two lines across one axis (Sutherland and Hodgman)."""
    for line, keep in ((low, 1), (high, -1)):
        kept = []
        for a, b in zip(polygon, polygon[1:] + polygon[:1]):
            if keep * (a[axis] - line) >= 0:
                kept.append(a)
            if (keep * (a[axis] - line) >= 0) != (keep * (b[axis] - line) >= 0):
                share = (line - a[axis]) / (b[axis] - a[axis])
                kept.append(tuple(p + share * (q - p) for p, q in zip(a, b)))
        polygon = kept
    return polygon


def area(polygon):
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(polygon, polygon[1:] + polygon[:1]))) / 2
