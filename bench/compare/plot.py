"""Draws the TSV of bench/compare/run: time over size, one panel per rank count."""

import collections
import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)


def main(tsv_path, png_path):
    best = collections.defaultdict(dict)  # (ranks, engine) -> bytes -> microseconds
    collective = ""
    with open(tsv_path, encoding="utf-8") as tsv:
        for row in csv.DictReader(tsv, delimiter="\t"):
            collective = row["collective"]
            line = best[int(row["ranks"]), row["engine"]]
            size, time = int(row["bytes"]), float(row["microseconds"])
            line[size] = min(time, line.get(size, time))
    rank_counts = sorted({ranks for ranks, _ in best})
    figure, axes = plt.subplots(1, len(rank_counts), figsize=(6 * len(rank_counts), 4.5), squeeze=False)
    for axis, ranks in zip(axes[0], rank_counts):
        for (of_ranks, engine), line in best.items():
            if of_ranks != ranks:
                continue
            points = sorted(line.items())
            axis.plot(*zip(*points), marker="o", linewidth=2.5 if engine == "mycel" else 1, label=engine)
        axis.set(xscale="log", yscale="log", xlabel="bytes", ylabel="microseconds", title=f"{collective}, {ranks} ranks")
        axis.set_xscale("log", base=2)
        axis.grid(True, which="both", alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(png_path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:3])
