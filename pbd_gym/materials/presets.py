"""Measured materials by name, in SI units, each with its source.

Fabrics: Wang, O'Brien, Ramamoorthi 2011, Data-driven elastic models for cloth, doi:10.1145/2010324.1964966, whose
database is distributed with ARCSim. It gives, per fabric, density, tensile and shear stiffness [N/m] by strain and
angle, and bending stiffness [N m] by curvature and angle. Taken here: the mean of warp and weft tension; half of its
fourth number, which multiplies the tensor shear, half the angle; the mean of all fifteen bending numbers. Linear and
isotropic is what these materials are not: the numbers are right in the middle of their range. Thickness is not in the
database and only turns a stiffness in N/m into a modulus in Pa: their product is what was measured.
"""

from __future__ import annotations

from typing import Any


def _woven(density: float, tension: float, shear: float, bend: float, thickness: float) -> dict[str, Any]:
    """Return the numbers of a fabric from stiffness per width [N/m] and flexural rigidity [N m]."""
    return {
        "density": density,
        "young_modulus": tension / thickness,
        "shear_modulus": shear / thickness,
        "thickness": thickness,
        "bend_stiffness": bend,
    }


FABRICS = {
    # "gray-interlock", a T-shirt, 60 % cotton, 40 % polyester. A knit stiffens sixfold: tension is that at a strain of
    # 1/6 (46 and 261 N/m; 17 and 34 N/m when slack), shear that when slack.
    "jersey": _woven(0.187, 153.7, 18.4, 2.18e-5, 0.7e-3),
    # "royal-target", trousers, 65 % cotton, 35 % polyester: 2017 and 2035 N/m.
    "cotton": _woven(0.220, 2026.0, 52.4, 1.71e-4, 0.5e-3),
    # "11oz-black-denim", jeans, 99 % cotton: 205 and 1014 N/m. Kawabata's bending test of six other denims gave 1.4e-5
    # to 2.2e-5 N m, doi:10.1155/2016/4614168, table 5.
    "denim": _woven(0.324, 609.6, 26.7, 7.23e-5, 0.9e-3),
    # "white-dots-on-blk", a tablecloth, polyester: 2002 and 2027 N/m.
    "polyester": _woven(0.128, 2014.8, 9.6, 3.11e-5, 0.3e-3),
    # "pink-ribbon-brown", a soft blanket, polyester: 152 and 245 N/m. The nearest that was measured to a towel.
    "blanket": _woven(0.228, 198.2, 15.1, 1.21e-4, 2.0e-3),
    # Derived, not measured. Habutai of 8 momme (1 momme is 4.340 g/m^2). Fibre: 7 GPa (doi:10.36922/MSAM025130020,
    # table 1), 1342 kg/m^3, radius 6e-6 m. Half of the fibres lie either way: 0.0347 / 2 / 1342 = 1.29e-5 m^2 of fibre
    # per metre of width. Bending free of each other they make 1.29e-5 * 7e9 * 6e-6^2 / 4 = 8.1e-7 N m, a lower bound.
    # Tension and shear: the polyester above, per weight, times 7 GPa over the 10 GPa or so of its fibre.
    "silk": _woven(0.0347, 382.0, 1.8, 8.1e-7, 0.08e-3),
}

SOLIDS = {
    # Vulcanized natural rubber: 950 kg/m^3, shear modulus 0.5 MPa, MatWeb; E = 3 G, as it keeps its volume. A Poisson's
    # ratio of 0.49 is as near 1/2 as linear tetrahedra bear.
    "rubber": {"density": 950.0, "young_modulus": 1.5e6, "poisson_ratio": 0.49},
    # Silicone Ecoflex 00-30: 69 kPa (10 psi) at a stretch of two, specific gravity 1.07, Smooth-On's data sheet.
    "silicone": {"density": 1070.0, "young_modulus": 6.9e4, "poisson_ratio": 0.49},
    # Gelatine, 1 part in 10 of water. Measured 277 kPa at 2:1 and 4.34 kPa at 20:1 with a power law between them,
    # arXiv:2512.20502: exponent -ln(277 / 4.34) / ln 10 = -1.80, so 277 (10 / 2)^-1.80 = 15 kPa.
    "gelatine": {"density": 1030.0, "young_modulus": 1.5e4, "poisson_ratio": 0.48},
    # Very soft wet clay: 2 to 15 MPa, Poisson's ratio 0.4 to 0.5, Bowles 1996, Foundation analysis and design, tables
    # 2-7 and 2-8. Elastic part only: real clay flows.
    "clay": {"density": 1700.0, "young_modulus": 2e6, "poisson_ratio": 0.45},
}

CORDS = {
    # Three-strand manila, 3/8 in: 4.10 lb per 100 ft = 0.0610 kg/m, breaks at 1220 lb = 5.43 kN (industrialrope.com,
    # table of nominal sizes). On the round area of 7.13e-5 m^2: 856 kg/m^3; with an extension of about 13 % at the
    # break E = 5.43e3 / 7.13e-5 / 0.13 = 0.59 GPa. Bending: the strands slip on each other. Three of radius r / 2.155
    # fill the circle; with the same E A they have 1.548 E and together 3 / 2.155^4 of its moment of area, 0.215 E I in
    # all. Yarns slip as well: real rope is softer still.
    "hemp": {"density": 856.0, "young_modulus": 5.9e8, "radius": 4.76e-3, "bend_stiffness": 0.0512},
    # Three-strand nylon, 3/8 in: 3.5 lb per 100 ft = 0.0521 kg/m, same table: 731 kg/m^3. Double-braided nylon of 1 in
    # has E A = 118.9 kip = 5.29e5 N on 5.07e-4 m^2 (UFC 4-159-03, table 6-8): E = 1.04 GPa. Bending as above.
    "nylon": {"density": 731.0, "young_modulus": 1.04e9, "radius": 4.76e-3, "bend_stiffness": 0.0902},
    # A solid cord of the rubber above, 1 cm thick.
    "rubber": {"density": 950.0, "young_modulus": 1.5e6, "radius": 5e-3},
}
