"""Measured materials by name, in SI units, each with its source.

Fabrics: Wang, O'Brien, Ramamoorthi 2011, Data-driven elastic models for cloth, doi:10.1145/2010324.1964966, whose
database is distributed with ARCSim. It gives, per fabric, density, tensile and shear stiffness [N/m] by strain and
angle, and bending stiffness [N m] by curvature and angle. The presets use the mean of warp and weft tension; half of
its fourth number, which multiplies the tensor shear, half the angle; and the mean of all fifteen bending numbers. Real
fabrics are neither linear nor isotropic: the numbers are right in the middle of their range. Thickness is not in that
database: it is the distance at which contact keeps layers apart, and it turns a stiffness in N/m into a modulus in Pa;
only the product of the two was measured.

Bending of fabrics missing from that database, and the ranges to compare with, are from Feng, Huang, Xu, Wang 2022,
Learning-based bending stiffness parameter estimation by a drape tester, doi:10.1145/3550454.3555464, whose database
(github.com/DrapeTester/ClothDrapeTester, dataset/dataset.csv) holds the cantilever tests of 618 fabrics: mass per area,
and rigidity D along warp and weft. The bending length of each is taken as ``(D / (w g))^(1/3)``, D the mean of both.
``pbd-gym fabrics`` runs cantilever and drape tests of all presets.
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
    # "royal-target", trousers, 65 % cotton, 35 % polyester: 2017 and 2035 N/m. Its bending, 1.71e-4 N m on average and
    # 1.20e-4 in the flattest folds, is none of a usual cotton: bending lengths of 4.3 and 3.8 cm, where all 176 fabrics
    # of Feng et al. within a quarter of its weight stay below 3.1 cm. Taken instead: the upper quartile of those,
    # 2.41 cm; woven cotton is stiffer than the knits among them.
    "cotton": _woven(0.220, 2026.0, 52.4, 3.02e-5, 0.5e-3),
    # "11oz-black-denim", jeans, 99 % cotton: 205 and 1014 N/m. Kawabata's bending test of six other denims gave 1.4e-5
    # to 2.2e-5 N m and thicknesses of 0.80 to 1.19 mm, doi:10.1155/2016/4614168, table 5.
    "denim": _woven(0.324, 609.6, 26.7, 7.23e-5, 0.9e-3),
    # "white-dots-on-blk", a tablecloth, polyester: 2002 and 2027 N/m.
    "polyester": _woven(0.128, 2014.8, 9.6, 3.11e-5, 0.3e-3),
    # "pink-ribbon-brown", a soft blanket, polyester: 152 and 245 N/m. Its bending is far from isotropic: 2.2e-4, 8.3e-5
    # and 5.9e-5 N m along warp, bias and weft. The mean is stiffer than 95 of 100 fabrics of its weight.
    "blanket": _woven(0.228, 198.2, 15.1, 1.21e-4, 2.0e-3),
    # Derived, not measured. Habutai of 8 momme (1 momme is 4.340 g/m^2). Fibre: 7 GPa (doi:10.36922/MSAM025130020,
    # table 1), 1342 kg/m^3, radius 6e-6 m. Half of the fibres lie either way: 0.0347 / 2 / 1342 = 1.29e-5 m^2 of fibre
    # per metre of width. Bending free of each other they make 1.29e-5 * 7e9 * 6e-6^2 / 4 = 8.1e-7 N m, a lower bound.
    # Tension and shear: the polyester above, per weight, times 7 GPa over the 10 GPa or so of its fibre.
    "silk": _woven(0.0347, 382.0, 1.8, 8.1e-7, 0.08e-3),
    # A bath towel, terry of cotton. Towels of medium weight have 400 to 600 g/m^2 (shhebei.com/new/new-67-228.html).
    # Bending: the median of the 54 fabrics of Feng et al. within a quarter of its weight, a bending length of 2.03 cm.
    # Tension and shear: the cotton above, whose thread the ground weave is. Thickness: derived, not measured. Loops of
    # 3.5 to 7 mm (eng.kakprosto.ru/how-16567-how-to-choose-towels) stand about 2 mm high on either side of a ground
    # weave of 1 mm.
    "towel": _woven(0.5, 2026.0, 52.4, 4.10e-5, 5e-3),
    # A T-shirt of single jersey. Usual ones have 160 to 200 g/m^2 (dongyuetextile.com/single-jersey-fabric). Bending:
    # the lower quartile of the 129 fabrics of Feng et al. within a quarter of its weight, 1.63 cm; single jersey is
    # among the limpest. Tension and shear: the interlock above. Thickness: what contact needs, not measured; twice the
    # interlock's, since edges of jersey curl.
    "tshirt": _woven(0.18, 153.7, 18.4, 7.65e-6, 1.5e-3),
}

BENDING_LENGTHS = {
    "jersey": (0.0104, 0.0299),
    "cotton": (0.0107, 0.0302),
    "denim": (0.0138, 0.0286),
    "polyester": (0.0128, 0.0294),
    "blanket": (0.0107, 0.0302),
    "silk": (0.0100, 0.0316),
    "towel": (0.0116, 0.0259),
    "tshirt": (0.0100, 0.0299),
}
"""5th and 95th percentile of the bending lengths [m] of the fabrics of Feng et al. 2022 whose mass per area is within a
quarter of a preset's: 136, 176, 122, 102, 181, 14, 54 and 129 of them."""

DRAPE_COEFFICIENTS = {
    # Plain weaves of one cotton with 18.5 to 32 picks per cm: Analysis of a fabric drape profile, Fibres and Textiles
    # 1/2018, vat.ft.tul.cz/2018/1/VaT_2018_1_6.pdf. Gan, Ly, Steven 1991, doi:10.1080/00405009108658741, have 0.684.
    # Neither could be opened: both are quoted at second hand.
    "cotton": (0.48, 0.72),
    # There is none of denim that could be found. Twills of cotton, 0.58 to 0.64, and of cotton and polyester at 250
    # g/m^2, 0.80 to 0.85, in the same paper.
    "denim": (0.58, 0.85),
    # Light woven silk: Matsudaira, Yang 2003, doi:10.1177/004051750307300309, quoted at second hand, from the
    # calibration of github.com/st-tech/ppf-contact-solver.
    "silk": (0.20, 0.40),
}
"""Published drape coefficients of fabrics similar to some presets, with 30 cm discs on 18 cm supports."""

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
