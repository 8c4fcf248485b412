"""Version space and its Bayes point
=================================

Linear classifiers in three dimensions are points on a sphere. Each labelled row is a great circle that they must not
cross, and what is left is version space. The Bayes point is its centre of mass, found by a billiard ball; the support
vector machine is the centre of the largest circle inside, and sits off centre where version space is elongated.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayespoint.plots import VersionSpaceDisplay

rng = np.random.default_rng(3)
X = rng.normal(size=(14, 3))
y = np.sign(X @ [1.0, 0.5, 0.3])

display = VersionSpaceDisplay.from_problem(X, y, random_state=0)
angle = np.degrees(np.arccos(display.bayes_point @ display.svm))
print(f"{angle:.1f} degrees between the Bayes point and the support vector machine")

display.plot(view="globe", ax=plt.subplots(figsize=(7.8, 4.8), layout="constrained")[1])
plt.show()
