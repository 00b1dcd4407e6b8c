"""Files as programs of all kinds write them: the same area, volume and closedness, or one error that names the line."""

from __future__ import annotations

import struct
from pathlib import Path

import meshio
import numpy as np
import pytest
import trimesh as trimesh_library
from numpy.testing import assert_allclose

from pbd_gym.geometry import TriMesh, read_tetmesh, read_trimesh, write_mesh
from pbd_gym.geometry.surfaces import closed_surface

SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
CUBE = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], dtype=np.float64)
QUADS = ((3, 2, 1, 0), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


def volume(mesh: TriMesh) -> float:
    """Return what a surface encloses, which must be closed and turn outwards."""
    points, faces = closed_surface(mesh.positions, mesh.triangles)
    a, b, c = points[faces].swapaxes(0, 1)
    return float((np.cross(a, b) * c).sum() / 6.0)


def read_text(folder: Path, name: str, text: str | bytes) -> TriMesh:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_trimesh(folder / name)


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("\ufeff" + SQUARE + "v 5 5 0\nf 1 2 3\nf 1 3 4\n", 1.0),
        ((SQUARE + "f 1 2 3\nf 1 3 4\n").replace(" ", "\t"), 1.0),
        (SQUARE + "f 1 2 3 # lower\nf 1 3 4#upper\n", 1.0),
        ("  " + (SQUARE + "f 1 2 3 4\n").replace("\n", "  \r\n  "), 1.0),
        ((SQUARE + "f 1 2 3 4\n").replace("\n", "\r"), 1.0),
        (SQUARE + "f -4 -3 -2 -1\n", 1.0),
        ("v 0 0 0\nv 1 0 0\nv 1 1 0\nf -3 -2 -1\nv 0 1 0\nf 1 -2 -1\n", 1.0),
        (SQUARE + "f 1 2 \\\n 3 \\\n4\n", 1.0),
        (SQUARE.replace(" 0\n", " 0 1.0\n") + "f 1 2 3 4\n", 1.0),
        (SQUARE.replace(" 0\n", " 0 0.5 0.25 1\n") + "f 1 2 3 4\n", 1.0),
        (
            "mtllib none.mtl\no A\n" + SQUARE + "vt 0 0\nvn 0 0 1\ng a b\nusemtl m\ns 1\nf 1/1/1 2/1/1 3/1/1 4/1/1\n",
            1.0,
        ),
        (SQUARE + "vn 0 0 1\nl 1 2\np 1\nf 1//1 2//1 3//1\nf 1/7 3/7 4/7\n", 1.0),
        (SQUARE + "v nothing\n".replace("nothing", "1e1 0 0") + "f 1 2 3 3\nf 1 3 4\n", 1.0),
        # Concave ones, from every corner and both ways round, in a plane that leans.
        *(
            (
                "".join(f"v {x} {y} {x + 2 * y}\n" for x, y in ((0, 0), (1, 0.2), (2, 0), (1, 2)))
                + "f "
                + " ".join(str((k + start) % 4 * way % 4 + 1) for k in range(4))
                + "\n",
                1.8 * np.sqrt(6.0),
            )
            for start in range(4)
            for way in (1, 3)
        ),
        ("v 0 0 0\nv 2 0 0\nv 2 2 0\nv 1 0.5 0\nv 0 2 0\nf 1 2 3 4 5\n", 2.5),
        # A corner on a straight side, and a square hole that a bridge of two corners at one place opens.
        ("v 0 0 0\nv 1 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nf 1 2 3 4 5\n", 4.0),
        ("v 0 0 0\nv 1 0 0\nv 2 0 0\nv 0 2 0\nf 1 2 3 4\n", 2.0),
        (
            "v 0 0 0\nv 4 0 0\nv 4 4 0\nv 0 4 0\nv 1 1 0\nv 1 3 0\nv 3 3 0\nv 3 1 0\nf 1 2 3 4 1 5 6 7 8 5\n",
            12.0,
        ),
    ],
)
def test_obj(text: str, area: float, tmp_path: Path) -> None:
    mesh = read_text(tmp_path, "a.obj", text)
    assert_allclose(mesh.areas().sum(), area, rtol=1e-12)
    assert_allclose(read_trimesh(tmp_path / "a.obj", scale=0.001).areas().sum(), 1e-6 * area, rtol=1e-12)


def test_obj_in_other_encodings(tmp_path: Path) -> None:
    """Guards Windows' shells, which write UTF-16, and names in the encoding of some country."""
    text = "o Würfel\n" + SQUARE + "f 1 2 3 4\n"
    for encoding in ("utf-16", "utf-32", "latin-1", "utf-8-sig"):
        assert_allclose(read_text(tmp_path, "a.obj", text.encode(encoding)).areas().sum(), 1.0)


def test_a_comb_and_a_spiral(tmp_path: Path) -> None:
    """Guards ears: outlines of many corners, most of them inwards, have the area that the shoelace formula says."""
    teeth = [p for k in range(20) for p in ((2.0 * k, 5.0), (2.0 * k + 1.0, 1.0))]
    comb = [(0.0, 0.0), (39.0, 0.0), *teeth[::-1]]
    turn = np.linspace(0.0, 5 * np.pi, 60)
    out = [((1 + t) * np.cos(t), (1 + t) * np.sin(t)) for t in turn]
    back = [((1.5 + t) * np.cos(t), (1.5 + t) * np.sin(t)) for t in turn[::-1]]
    for outline in (comb, out + back):
        x, y = np.array(outline).T
        area = 0.5 * abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()))
        text = "".join(f"v {a!r} 0 {b!r}\n" for a, b in zip(x.tolist(), y.tolist(), strict=True))
        (tmp_path / "a.obj").write_text(text + "f " + " ".join(map(str, range(1, len(x) + 1))) + "\n")
        assert_allclose(read_trimesh(tmp_path / "a.obj", scale=1.0).areas().sum(), area, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.obj", "# an\nv 0 0\nf 1 2 3\n", "line 2: a vertex has 3 numbers, got 2"),
        ("a.obj", "v 0 0 0,5\n", "line 1: '0,5' is not a number"),
        ("a.obj", SQUARE + "f 1 2 nan\n", "line 5: 'nan' is not a corner"),
        ("a.obj", SQUARE + "f 1 2 0\n", "line 5: a face names vertex 0"),
        ("a.obj", SQUARE + "\nf 1 2 9\n", "line 6: a face names vertex 9, but the file has 4"),
        ("a.obj", SQUARE + "f 1 2 -5\n", "line 5: a face names vertex -5, but vertices so far are 1 to 4"),
        ("a.obj", SQUARE + "f 1 2\n", "line 5: a face has at least 3 corners, got 2"),
        ("a.obj", SQUARE.replace("1 1", "NaN 1"), "line 3: NaN is not finite"),
        ("a.obj", SQUARE + "f 1 2 3\nf 1 3 4\nf 3 1 2\n", r"triangles 0 and 2 have the same .*\(lines 5, 7\)"),
        ("a.obj", SQUARE + "f 1 2 3\nf 1 4 3\n", r"opposite ways.*\(lines 5, 6\)"),
        ("a.obj", SQUARE + "f 1 2 3\nf 1 1 3\n", r"same vertex twice.*\(line 6\)"),
        ("a.obj", SQUARE + "v 2 0 0\nf 1 2 5\n", r"no area.*\(line 6\)"),
        ("a.obj", "v 0 0 0\nv 2 2 0\nv 2 0 0\nv 0 1 0\nf 1 2 3 4\n", "line 5: a face with 4 corners crosses itself"),
        ("a.obj", SQUARE + "l 1 2\n", "the surface is empty"),
        ("a.obj", "\0" * 20, "it is not text"),
        (
            "a.ply",
            "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\n",
            "it is cut short: it has no end_header",
        ),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex two\nend_header\n", "line 3: 'element vertex two' is not a"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\none\n", "line 6: 'one' does"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nend_header\n1\n", "2 of vertex are ann"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n", "x, y and z"),
        (
            "a.stl",
            "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0\n",
            "line 5: a corner has 3 numbers",
        ),
        (
            "a.stl",
            "solid a\nfacet\nouter loop\nvertex 0 0 0\nendloop\nendsolid\n",
            "line 5: a triangle has 3 corners, got 1",
        ),
        ("a.stl", b"\0" * 80 + struct.pack("<I", 7) + b"\0" * 60, "cut short: 7 triangles are announced, 1 are there"),
        ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 4\n", "line 6: a face names vertex 4"),
    ],
)
def test_lines_of_errors(name: str, text: str | bytes, message: str, tmp_path: Path) -> None:
    """Guards messages: each names the file, what is wrong and where."""
    with pytest.raises(ValueError, match=rf"a\.\w+( is broken)?: .*{message}"):
        read_text(tmp_path, name, text)


def ply_text(order: str, faces: tuple[tuple[int, ...], ...]) -> bytes:
    """Write a cube as MeshLab does: numbers besides positions, faces with marks before and a list behind."""
    head = (
        f"ply\nformat {order} 1.0\ncomment by hand\nobj_info none\nelement vertex 8\nproperty uchar red\n"
        "property double x\nproperty double y\nproperty double z\nproperty float quality\n"
        f"element face {len(faces)}\nproperty int flags\nproperty list uchar uint vertex_indices\n"
        "property list uchar float texcoord\nelement edge 1\nproperty int a\nproperty int b\nend_header\n"
    )
    if order == "ascii":
        body = "".join(f"7 {x} {y} {z} 0.5\n" for x, y, z in CUBE)
        body += "".join(f"0 {len(f)} {' '.join(map(str, f))} {len(f)} {'0.5 ' * len(f)}\n" for f in faces)
        return (head + body + "0 1\n").replace("\n", "\r\n").encode()
    end = "<" if "little" in order else ">"
    body = b"".join(struct.pack(end + "Bdddf", 7, *row, 0.5) for row in CUBE)
    for f in faces:
        body += struct.pack(f"{end}iB{len(f)}IB{len(f)}f", 0, len(f), *f, len(f), *([0.5] * len(f)))
    return head.encode() + body + struct.pack(end + "ii", 0, 1)


@pytest.mark.parametrize("order", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply(order: str, tmp_path: Path) -> None:
    """Guards quads, mixed polygons and properties of all kinds, in both byte orders; and files that are cut short."""
    mixed = (*QUADS[:4], (2, 3, 7), (2, 7, 6), *QUADS[5:])
    for faces in (QUADS, mixed):
        data = ply_text(order, faces)
        assert_allclose(volume(read_text(tmp_path, "a.ply", data)), 1.0)
        with pytest.raises(ValueError, match=r"a\.ply is broken: (it is cut short|line \d+: .* does not hold)"):
            read_text(tmp_path, "a.ply", data[: len(data) * 3 // 4])


def test_ply_strips(tmp_path: Path) -> None:
    text = (
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
        "element tristrips 1\nproperty list int int vertex_indices\nend_header\n"
        "0 0 0\n1 0 0\n0 1 0\n1 1 0\n8 0 1 2 3 -1 -1 0 1\n"
    )
    assert_allclose(read_text(tmp_path, "a.ply", text).areas(), [0.5, 0.5])


def stl_text(name: str) -> str:
    rows = ""
    for quad in QUADS:
        for k in (1, 2):
            corners = "".join(f"   vertex {x:e} {y:e} {z:e}\n" for x, y, z in CUBE[[quad[0], quad[k], quad[k + 1]]])
            rows += f" facet normal 0 0 0\n  outer loop\n{corners}  endloop\n endfacet\n"
    return f"solid {name}\n{rows}endsolid {name}\n"


def test_stl(tmp_path: Path) -> None:
    """Guards text of either case and line end, names with any words, and binaries that begin with that of a text."""
    for text in (
        stl_text("a"),
        stl_text("vertex 1 2 facet"),
        stl_text("# b").upper(),
        stl_text("").replace("\n", "\r\n"),
    ):
        assert_allclose(volume(read_text(tmp_path, "a.stl", text)), 1.0)
    triangles = [(q[0], q[k], q[k + 1]) for q in QUADS for k in (1, 2)]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *CUBE[list(t)].ravel(), 3) for t in triangles)
    for header in (b"solid made by a program", b"\0", b"COLOR=abcd UNITS=m"):
        data = header.ljust(80, b" " if header != b"\0" else b"\0") + struct.pack("<I", len(triangles)) + body
        assert_allclose(volume(read_text(tmp_path, "a.stl", data)), 1.0)
    assert_allclose(volume(read_text(tmp_path, "a.stl", b"\0".ljust(80, b"\0") + data[80:] + b"tail")), 1.0)


def test_off(tmp_path: Path) -> None:
    rows = "".join(f"{x} {y} {z}\n" for x, y, z in CUBE) + "".join(
        f"4 {' '.join(map(str, q))} 255 0 0\n" for q in QUADS
    )
    for head in ("OFF\n8 6 12\n", "OFF 8 6 12\n", "# by hand\n\nCOFF # colours\n\n8 6 0\n"):
        assert_allclose(volume(read_text(tmp_path, "a.off", head + rows)), 1.0)


def test_parts_of_a_scene(tmp_path: Path) -> None:
    """Guards glTF: nodes that move, scale and mirror what they hold, all of it outwards."""
    scene = trimesh_library.Scene()
    part = trimesh_library.creation.box((1.0, 1.0, 1.0))
    for k, scale in enumerate((1.0, -1.0)):
        place = np.diag([scale, 1.0, 1.0, 1.0])
        place[0, 3] = 4.0 * k
        scene.add_geometry(part, transform=place)
    scene.export(tmp_path / "a.glb")
    mesh = read_trimesh(tmp_path / "a.glb")
    assert_allclose(volume(mesh), 2.0, rtol=1e-6)
    assert len(mesh.positions) == 16


# ------------------------------------------------------------------------------------------------------- tetrahedra

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0], [1, 1, 1]])
TETS = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
"""Two that share a face, of 1/6 and 1/3."""


def second_order() -> tuple[np.ndarray, np.ndarray]:
    """Return ten nodes for each tetrahedron; those at edges bulge."""
    points, rows = list(CORNERS), []
    for tet in TETS:
        row = list(tet)
        for a, b in ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)):
            row.append(len(points))
            points.append(0.5 * (CORNERS[tet[a]] + CORNERS[tet[b]]) + [0.0, 0.0, 0.01])
        rows.append(row)
    return np.array(points), np.array(rows)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.msh", "gmsh22"),
        ("b.msh", "gmsh"),
        ("c.vtk", "vtk42"),
        ("d.vtk", "vtk51"),
        ("e.vtu", "vtu"),
        ("f.inp", "abaqus"),
    ],
)
def test_second_order(name: str, kind: str, tmp_path: Path) -> None:
    """Guards corners of cells of ten nodes, beside triangles of six."""
    points, rows = second_order()
    data = {"cell_data": {"gmsh:physical": [[1, 1]], "gmsh:geometrical": [[1, 1]]}} if kind == "gmsh22" else {}
    meshio.write(tmp_path / name, meshio.Mesh(points, [("tetra10", rows)], **data), file_format=kind)
    assert_allclose(np.sort(read_tetmesh(tmp_path / name).volumes()), [1 / 6, 1 / 3])


def test_second_order_of_tetgen_and_medit(tmp_path: Path) -> None:
    points, rows = second_order()
    for base in (0, 1):
        node = "# made by hand\n\n17 3 0 1  # with marks\n"
        node += "".join(f"  {k + base}\t{x} {y} {z} 1\n" for k, (x, y, z) in enumerate(points))
        (tmp_path / "a.1.node").write_text(node + "# end\n")
        ele = "2 10 1\n" + "".join(
            f"{k + base} {' '.join(str(v + base) for v in row)} 7\n" for k, row in enumerate(rows)
        )
        (tmp_path / "a.1.ele").write_text(ele)
        for suffix in (".node", ".ele"):
            assert_allclose(np.sort(read_tetmesh(tmp_path / f"a.1{suffix}").volumes()), [1 / 6, 1 / 3])
    for word, width, form in (("Tetrahedra", 4, "\n"), ("TetrahedraP2", 10, "\n"), ("Tetrahedra", 4, " ")):
        text = "MeshVersionFormatted 2\nDimension\n3\nVertices\n17\n"
        text += form.join(f"{x} {y} {z} 0" for x, y, z in points) + "\nRequiredVertices\n1\n1\n"
        text += f"Triangles\n1\n1 2 3 0\n{word}\n2\n"
        text += form.join(f"{' '.join(str(v + 1) for v in row[:width])} 5" for row in rows) + "\nEnd\n"
        (tmp_path / "a.mesh").write_text(text)
        assert_allclose(np.sort(read_tetmesh(tmp_path / "a.mesh").volumes()), [1 / 6, 1 / 3])


ABAQUS = """*HEADING
 by hand
*Part, name=one
*Node
  10, 0., 0., 0.
  20, 1., 0., 0.
  30, 0., 1., 0.,
  40, 0., 0., 1.
*Element, type=c3d4h, elset=all
  1, 10, 20,
     30, 40
*Nset, nset=pinned
 10, 20
*End Part
*Part, name=two
*NODE
10, 1, 0, 0
20, 0, 1, 0
30, 0, 0, 1
40, 1, 1, 1
** a surface, too
*ELEMENT, TYPE=S3
1, 10, 20, 30
*ELEMENT, TYPE=C3D4
2, 10, 20, 30, 40
*End Part
*Assembly, name=all
*Instance, name=one-1, part=one
*End Instance
*End Assembly
"""


def test_abaqus(tmp_path: Path) -> None:
    """Guards parts with numbers of their own, which hang together where they have nodes at the same place."""
    (tmp_path / "a.inp").write_text(ABAQUS)
    mesh = read_tetmesh(tmp_path / "a.inp")
    assert_allclose(mesh.volume(), 0.5)
    assert len(mesh.positions) == 5
    for old, new, message in (
        ("*End Instance", "1, 2, 3\n*End Instance", "line 29: an instance is moved"),
        ("*Node\n", "*Node, input=nodes.txt\n", "line 4: .* stands for another file"),
        ("2, 10, 20, 30, 40", "2, 10, 20, 30, 50", "line 25: a cell names vertex 50"),
        ("C3D4\n", "C3D8R\n", "it holds 1 hexahedra beside 1 tetrahedra"),
    ):
        (tmp_path / "a.inp").write_text(ABAQUS.replace(old, new))
        with pytest.raises(ValueError, match=rf"a\.inp.*{message}"):
            read_tetmesh(tmp_path / "a.inp")


@pytest.mark.parametrize("name", ["a.msh", "a.vtk", "a.vtu", "a.mesh", "a.inp"])
def test_other_cells_are_named(name: str, tmp_path: Path) -> None:
    """Guards against part of a body: hexahedra are not left out without a word, nor is a surface called empty alone."""
    kinds = {"gmsh:physical": [[1]], "gmsh:geometrical": [[1]]} if name == "a.msh" else {}
    cube = meshio.Mesh(CUBE, [("hexahedron", np.arange(8)[None])], cell_data=kinds)
    meshio.write(tmp_path / name, cube, **({"file_format": "gmsh22"} if name == "a.msh" else {}))
    with pytest.raises(ValueError, match=rf"{name}: it holds 1 hexahedra and no tetrahedra.*geometry\.lattice"):
        read_tetmesh(tmp_path / name)
    both = [("tetra", TETS[:1]), ("hexahedron", np.arange(8)[None])]
    if name != "a.msh":
        meshio.write(tmp_path / name, meshio.Mesh(CUBE, both))
        with pytest.raises(ValueError, match="1 hexahedra beside 1 tetrahedra"):
            read_tetmesh(tmp_path / name)


def test_parts_with_doubled_nodes_hang_together(tmp_path: Path) -> None:
    """Guards welding of solids: one body of two parts, not two that fall apart."""
    points = np.concatenate([CORNERS[TETS[0]], CORNERS[TETS[1]] + 1e-9])
    for name in ("a.msh", "a.vtk", "a.vtu", "a.mesh", "a.inp", "a.node"):
        write_mesh(tmp_path / name, points, np.arange(8).reshape(2, 4))
        mesh = read_tetmesh(tmp_path / name)
        assert (len(mesh.positions), len(mesh.triangles)) == (5, 6), name
        assert len(read_tetmesh(tmp_path / name, weld=0.0).positions) == 8


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.msh",
            "$MeshFormat\n4.1 5 8\n$EndMeshFormat\n",
            r"ReadError in gmsh's _read_header, at 'raise ReadError\(\)'",
        ),
        ("a.msh", "$MeshFormat\n9 0 8\n$EndMeshFormat\n", "format"),
        ("a.vtu", "<VTKFile type='ImageData'/>", "Expected type UnstructuredGrid"),
        ("a.vtk", "# vtk DataFile Version 4.2\na\nASCII\nDATASET NONE\n", "."),
        (
            "a.mesh",
            "MeshVersionFormatted 2\nDimension 3\nVertices\n4\n0 0 0 0\n1 0\n",
            "line 3: it is cut short: 4 vertices",
        ),
        ("a.mesh", "MeshVersionFormatted 2\nDimension 3\nVertices 1\n0 x 0 0\n", "line 4: 'x' is not a number"),
        ("a.node", "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n", "a.ele, line 2: a cell names vertex 9"),
        ("a.node", "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n", "a.node, it is cut short: 4 lines are announced, 3 follow"),
        ("a.node", "1 2 0 0\n1 0 0\n", "a.node, line 1: vertices have 3 coordinates, got 2"),
        ("a.node", "4 3 0 0\n1 0 0 0\n1 1 0 0\n3 0 1 0\n4 0 0 1\n", "two vertices have number 1 in a.node"),
    ],
)
def test_reasons_are_not_blank(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "a.ele").write_text("1 4 0\n1 1 2 3 9\n")
    with pytest.raises(ValueError, match=rf"{name} is broken: (?=\S).*{message}"):
        read_tetmesh(tmp_path / name)


def test_millimetres_are_hinted_at(tmp_path: Path) -> None:
    """Guards units: a size that nothing here has is asked about, unless the unit is given."""
    write_mesh(tmp_path / "a.stl", 40.0 * CUBE, np.array([q[:3] for q in QUADS]))
    with pytest.warns(UserWarning, match=r"a\.stl is 40 x 40 x 40 m large.*scale=0\.001"):
        read_trimesh(tmp_path / "a.stl")
    assert_allclose(np.ptp(read_trimesh(tmp_path / "a.stl", scale=0.001).positions, axis=0), 0.04)
    assert_allclose(np.ptp(read_trimesh(tmp_path / "a.stl", scale=1.0).positions, axis=0), 40.0)
    write_mesh(tmp_path / "a.vtk", 40.0 * CORNERS, TETS)
    with pytest.warns(UserWarning, match="40 x 40 x 40 m large"):
        read_tetmesh(tmp_path / "a.vtk")
    with pytest.raises(ValueError, match="scale must be finite and above zero, got 0"):
        read_trimesh(tmp_path / "a.stl", scale=0)
