"""make_matrix.py SIDE > FILE.mtx: a symmetric positive definite Matrix Market file for the cg example: the five-point
operator of a SIDE x SIDE grid with uneven conductivities, from a fixed seed."""

import random
import sys


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 1:
        sys.exit(__doc__)
    side = int(sys.argv[1])
    generator = random.Random(side)
    diagonal = [0.05] * (side * side)
    entries = []
    for i in range(side):
        for j in range(side):
            for other_i, other_j in ((i, j + 1), (i + 1, j)):
                if other_i < side and other_j < side:
                    here, there = i * side + j, other_i * side + other_j
                    weight = round(generator.uniform(0.1, 2.0), 6)
                    entries.append((there, here, -weight))
                    diagonal[here] += weight
                    diagonal[there] += weight
    entries += [(i, i, round(value, 6)) for i, value in enumerate(diagonal)]
    print("%%MatrixMarket matrix coordinate real symmetric")
    print(f"% five-point operator on a {side} x {side} grid, uneven conductivities (make_matrix.py {side})")
    print(side * side, side * side, len(entries))
    for row, column, value in sorted(entries, key=lambda entry: (entry[1], entry[0])):
        print(row + 1, column + 1, value)


main()
