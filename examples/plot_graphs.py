"""A kernel of graphs
==================

Molecules are graphs: atoms with bonds between them. The Weisfeiler-Lehman kernel counts the neighbourhoods that two of
them share: atoms by their element, then by that and their neighbours', and so on; how far is decided by the evidence.
Which of them boil above 60 degrees Celsius? Every probability is that of a molecule that was left out.
"""

from collections import Counter
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from bayespoint import BayesPointClassifier

# Chains of atoms, branches in brackets, "=" before a double bond; hydrogen is not written. Boiling points in degrees.
MOLECULES = {
    **{"C": -161, "CC": -89, "CCC": -42, "CCCC": -1, "CC(C)C": -12, "CCCCC": 36, "CC(C)CC": 28, "CC(C)(C)C": 10},
    **{"CCCCCC": 69, "CC(C)CCC": 60, "CCCCCCC": 98, "CCCCCCCC": 126, "C=C": -104, "CC=C": -48, "CCC=C": -6},
    **{"CCCC=C": 30, "CCCCC=C": 63, "CO": 65, "CCO": 78, "CCCO": 97, "CC(O)C": 82, "CCCCO": 118, "CC(C)(C)O": 82},
    **{"CCCCCO": 138, "OCCO": 197, "COC": -24, "COCC": 7, "CCOCC": 35, "CCCOCCC": 90, "CN": -6, "CCN": 17, "CCCN": 48},
    **{"CCCCN": 78, "CNC": 7, "CN(C)C": 3, "CCN(CC)CC": 89, "CC(=O)C": 56, "CCC(=O)C": 80, "CC=O": 20, "CCC=O": 48},
    **{"CCCC=O": 75, "OC=O": 101, "CC(=O)O": 118, "CCC(=O)O": 141, "CC(=O)OC": 57, "CC(=O)OCC": 77, "NC=O": 210},
    **{"CC(=O)N": 221, "CCCC(=O)O": 164, "CCCCCCO": 157, "NCCN": 116, "CCCCC(=O)C": 127},
}


def graph(text):
    """Elements of the atoms, and for each atom its bonds: pairs of their kind and the atom at the other end."""
    elements, bonds, branches, last, kind = [], [], [], None, "-"
    for letter in text:
        if letter == "(":
            branches.append(last)
        elif letter == ")":
            last = branches.pop()
        elif letter == "=":
            kind = "="
        else:
            elements.append(letter)
            bonds.append([])
            if last is not None:
                bonds[last].append((kind, len(elements) - 1))
                bonds[-1].append((kind, last))
            last, kind = len(elements) - 1, "-"
    return elements, bonds


def neighbourhoods(molecule, depth):
    """How often each neighbourhood is there, of no step up to `depth` of them."""
    labels, bonds = molecule
    counts = Counter(labels)
    for _ in range(depth):
        around = [sorted(kind + labels[i] for kind, i in at) for at in bonds]
        labels = [f"{label}{others}" for label, others in zip(labels, around, strict=True)]
        counts.update(labels)
    return counts


def shared_neighbourhoods(molecules, others, depth):
    left, right = ([neighbourhoods(one, depth) for one in side] for side in (molecules, others))
    return np.array([[sum(a[key] * b[key] for key in a) for b in right] for a in left], dtype=float)


graphs = [graph(text) for text in MOLECULES]
degrees = np.array(list(MOLECULES.values()))
kernels = [partial(shared_neighbourhoods, depth=depth) for depth in range(3)]
models = [BayesPointClassifier(kernel).fit(graphs, degrees > 60) for kernel in kernels]
print("log-evidence of depth 0, 1, 2:", [round(model.log_evidence_, 1) for model in models])
model = max(models, key=lambda one: one.log_evidence_)
proba = model.loo_proba_[:, 1]
print(f"right when left out: {np.mean((proba > 0.5) == (degrees > 60)):.2f} of {len(graphs)} molecules")

plt.axvline(60, color="black", linewidth=0.8)
plt.axhline(0.5, color="black", linewidth=0.8)
plt.scatter(degrees, proba, c=np.where(degrees > 60, "tab:red", "tab:blue"))
for text, x, p in zip(MOLECULES, degrees, proba, strict=True):
    if (p > 0.5) != (x > 60):
        plt.annotate(text, (x, p), xytext=(4, 4), textcoords="offset points", fontsize=8)
plt.xlabel("boiling point in degrees Celsius")
plt.ylabel("probability to boil above 60, left out")
plt.show()
