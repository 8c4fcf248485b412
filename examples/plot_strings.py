"""A kernel of strings
===================

Inputs need not be vectors: a function of two lists is a kernel if it returns the matrix of their similarities. Words
are alike here if they share letters, pairs and triples of letters, each counted; which language is a word from?
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from bayespoint import BayesPointClassifier

FINNISH = """
yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen talo puu järvi metsä lintu kala
koira kissa hevonen leipä maito vesi tuli maa taivas kivi kukka lumi talvi kesä syksy kevät päivä yö aamu ilta äiti isä
veli sisko
"""
ITALIAN = """
uno due tre quattro cinque sei sette otto nove dieci casa albero lago bosco uccello pesce cane gatto
cavallo pane latte acqua fuoco terra cielo pietra fiore neve inverno estate autunno primavera giorno notte mattina sera
madre padre fratello sorella
"""


def parts(word):
    """Letters, pairs and triples, the ends of the word included."""
    word = f"<{word}>"
    return Counter(word[i : i + k] for k in (1, 2, 3) for i in range(len(word) - k + 1))


def shared_parts(words, others):
    """Cosine of the counts, for each pair of words."""
    left, right = [parts(word) for word in words], [parts(word) for word in others]
    values = np.array([[sum(a[part] * b[part] for part in a) for b in right] for a in left], dtype=float)
    lengths = [np.sqrt([sum(count**2 for count in one.values()) for one in side]) for side in (left, right)]
    return values / np.outer(*lengths)


words = FINNISH.split() + ITALIAN.split()
language = np.repeat(["Finnish", "Italian"], [len(FINNISH.split()), len(ITALIAN.split())])
model = BayesPointClassifier(shared_parts).fit(words, language)
left_out = model.classes_[model.loo_proba_.argmax(axis=1)]
print(f"words that are right when they are left out: {np.mean(left_out == language):.2f}")

new = ["kirja", "libro", "sydän", "cuore", "ranta", "musica", "piano", "sauna", "radio"]
proba = model.predict_proba(new)[:, 1]
order = np.argsort(proba)
plt.barh([new[i] for i in order], proba[order], color="tab:blue")
plt.axvline(0.5, color="black", linewidth=0.8)
plt.xlabel("probability of Italian")
plt.xlim(0, 1)
plt.show()
