"""Lateness in a line."""

EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)


def histogram(late):
    """How many came later than one edge and not later than the next, in ms; then median, 99th and greatest."""
    counts, below = [], -1
    for edge in EDGES + (float("inf"),):
        count = sum(below < ms <= edge for ms in late)
        if count:
            counts.append(f"<={edge}:{count}" if edge != float("inf") else f">{below}:{count}")
        below = edge
    ordered = sorted(late)
    return f"{' '.join(counts)} (p50 {ordered[len(ordered) // 2]}, p99 {ordered[len(ordered) * 99 // 100]}, max {ordered[-1]})"
