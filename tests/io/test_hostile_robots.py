"""Robot files of strangers: an answer or a FormatError in bounded time and memory, nothing else opened, nobody called.

`LEASTACTION_FUZZ=10000` (`make robots`) changes more of them.
"""

import os
import sys
import sysconfig
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from support.mutations import mutated

import leastaction as la
from leastaction.io import xml_tree

COUNT = int(os.environ.get("LEASTACTION_FUZZ", "300"))
LONGEST = 10.0  # s of the processor for a file, with memory being traced
ROBOTS = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"

SEED = b"""<?xml version="1.0"?>
<robot name="seed">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"><inertial><mass value="3"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <link name="arm">
    <inertial><origin xyz="0 0 0.2" rpy="0 0.1 0"/><mass value="1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <visual><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.1" length="0.4"/></geometry><material name="red"/></visual>
    <collision><geometry><mesh filename="../meshes/arm.stl" scale="1 1 1"/></geometry></collision>
  </link>
  <link name="hand"><inertial><mass value="0.5"/><inertia ixx="0.001" iyy="0.001" izz="0.001"/></inertial></link>
  <link name="finger"><inertial><mass value="0.1"/><inertia ixx="0.0001" iyy="0.0001" izz="0.0001"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1" rpy="0 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="3"/><dynamics damping="0.1" friction="0"/></joint>
  <joint name="wrist" type="continuous"><parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/></joint>
  <joint name="grip" type="prismatic"><parent link="hand"/><child link="finger"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/><mimic joint="wrist" multiplier="0.1"/></joint>
  <transmission name="t"><joint name="shoulder"/><actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
  <gazebo reference="arm"><mu1>0.9</mu1></gazebo>
</robot>
"""


class Opened:
    """Files and connections that were opened while it was in use."""

    def __init__(self):
        self.events, self.watching = [], False
        sys.addaudithook(self._hear)  # stays for good, so there is one for all tests

    def _hear(self, event, arguments):
        if self.watching and (event == "open" or event.startswith(("socket.", "subprocess.", "os.system", "urllib."))):
            self.events.append((event, str(arguments[0]) if arguments else ""))

    def __enter__(self):
        self.events, self.watching = [], True
        return self

    def __exit__(self, *_):
        self.watching = False


@pytest.fixture(scope="module")
def opened():
    return Opened()


def attempt(path, opened, **options):
    """Load and compile; returns what came of it.  Anything but an answer or an error of ours is a failure of this test."""
    began = time.process_time()
    with opened:
        try:
            mech = la.load(path, **options)
        except la.FormatError as error:
            outcome = str(error)
        else:
            outcome = ""
    assert {name for event, name in opened.events if event != "open"} == set()
    assert {name for event, name in opened.events if not name.endswith((".py", ".pyc"))} <= {str(path)}  # modules of ours, on first use
    if not outcome:
        try:
            mech.compile()
        except la.MechanismError as error:
            outcome = str(error)
    assert time.process_time() - began < LONGEST
    return outcome


SDF_SEED = b"""<?xml version="1.0"?>
<sdf version="1.9"><model name="seed"><pose>0 0 1 0 0 0.1</pose>
  <link name="base"><inertial><mass>3</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
  <link name="crank"><pose relative_to="f">0 0 0 0 0 0</pose><inertial><pose>0 0 0.5 0 0 0</pose><mass>1</mass>
    <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    <visual name="v"><geometry><mesh><uri>../meshes/arm.stl</uri></mesh></geometry></visual></link>
  <link name="rod"><pose degrees="true">1 0 0 0 10 0</pose><inertial><mass>1</mass>
    <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    <collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link>
  <link name="wheel"><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
  <frame name="f" attached_to="base"><pose>0 0 0.5 0 0 0</pose></frame>
  <joint name="j1" type="revolute"><parent>base</parent><child>crank</child>
    <axis><xyz>0 1 0</xyz><limit><lower>-1</lower></limit></axis></joint>
  <joint name="j2" type="universal"><parent>crank</parent><child>rod</child>
    <axis><xyz>0 1 0</xyz></axis><axis2><xyz>1 0 0</xyz></axis2></joint>
  <joint name="j3" type="ball"><parent>base</parent><child>rod</child><pose>0.1 0 0 0 0 0</pose></joint>
  <joint name="j4" type="revolute"><parent>base</parent><child>wheel</child><axis><xyz expressed_in="f">0 1 0</xyz>
    <dynamics><damping>0.1</damping></dynamics></axis></joint>
  <joint name="gear" type="gearbox"><parent>crank</parent><child>wheel</child><axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>
    <gearbox_ratio>2</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body></joint>
</model></sdf>
"""


def urdf_seeds():
    return [SEED, *(path.read_bytes() for path in sorted(ROBOTS.rglob("*.urdf")) if path.stat().st_size < 30_000)]


@pytest.mark.parametrize(
    ("suffix", "files", "ignored"),
    [("urdf", urdf_seeds(), ["friction", "gazebo", "dynamics"]), ("sdf", [SDF_SEED], ["inertial", "friction"])],
)
def test_mutated_files(suffix, files, ignored, tmp_path, opened):
    path = tmp_path / "package" / suffix / f"robot.{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(files[0])
    assert attempt(path, opened) == ""
    refused = 0
    for i in range(COUNT):
        rng = np.random.default_rng(i)
        data = mutated(files[0] if i % 2 else files[i // 2 % len(files)], rng)
        path.write_bytes(data)
        try:
            outcome = attempt(path, opened, floating=bool(i % 3 == 0), ignore=ignored if i % 5 else [])
        except BaseException:
            print(f"seed {i}:", data[:2000])
            raise
        refused += bool(outcome)
        assert len(outcome) < 20_000
    assert 0.3 < refused / COUNT < 0.999  # the changes bite, and some files survive them


def link_and_joint(i, child):
    return b'<link name="%d"/><joint name="%d" type="fixed"><parent link="%d"/><child link="%d"/></joint>' % (i, i, i, child)


BOMBS = {
    "entities": b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">'.encode() for i in range(10)) + b"]><robot>&k;</robot>",
    "external entity": b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
    "external subset": b'<!DOCTYPE r SYSTEM "http://localhost:1/evil.dtd"><robot/>',
    "parameter entity": b'<!DOCTYPE r [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><robot/>',
    "nesting": b"<robot>" + b"<link>" * 200_000,
    "nesting, closed": b"<robot>" + b"<a>" * 200_000 + b"</a>" * 200_000 + b"</robot>",
    "elements": b"<robot>" + b"<link/>" * 1_000_000 + b"</robot>",
    "attributes": b"<robot " + b" ".join(b'a%d="1"' % i for i in range(100_000)) + b"/>",
    "a long name": b'<robot name="' + b"x" * 10_000_000 + b'"><link name="a"/><link name="a"/></robot>',
    "a long tag": b"<" + b"x" * 10_000_000 + b"/>",
    "a long text": b"<robot>" + b"x" * 10_000_000,
    "too large": b"<robot>" + b" " * (xml_tree.MOST_BYTES + 1),
    "nothing": b"",
    "zeros": b"\0" * 1000,
    "binary": bytes(range(256)) * 100,
    "another encoding": b'<?xml version="1.0" encoding="utf-7"?><robot/>',
    "a codec": b'<?xml version="1.0" encoding="rot13"?><robot/>',
    "undefined entity": b"<robot>&nothing;</robot>",
    "a ring of frames": b'<sdf><model name="m"><link name="l"/>' + b"".join(
        b'<frame name="%d"><pose relative_to="%d"/></frame>' % (i, (i + 1) % 5000) for i in range(5000)) + b"</model></sdf>",
    "a chain of frames": b'<sdf><model name="m"><link name="l"><pose relative_to="0"/></link>' + b"".join(
        b'<frame name="%d"><pose relative_to="%d"/></frame>' % (i, i + 1) for i in range(5000)) + b"</model></sdf>",
    "one chain of links": b"<robot>" + b"".join(link_and_joint(i, i + 1) for i in range(4000)) + b'<link name="4000"/></robot>',
    "a ring of links": b"<robot>" + b"".join(link_and_joint(i, (i + 1) % 5000) for i in range(5000)) + b"</robot>",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name, tmp_path, opened):
    path = tmp_path / ("bomb.sdf" if b"<sdf>" in BOMBS[name] else "bomb.urdf")
    path.write_bytes(BOMBS[name])
    tracemalloc.start()
    try:
        outcome = attempt(path, opened)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert outcome and len(outcome) < 2000
    assert ("document type" in outcome) == (b"<!DOCTYPE" in BOMBS[name])  # refused before any entity is looked at
    assert peak < 400e6


@pytest.mark.parametrize("cut", range(0, len(SEED) - 10, 97))
def test_truncated_files(cut, tmp_path, opened):
    path = tmp_path / "cut.urdf"
    path.write_bytes(SEED[:cut])
    assert "not well-formed" in attempt(path, opened)
