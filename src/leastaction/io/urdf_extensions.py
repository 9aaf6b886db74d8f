"""What URDF files say besides links and joints: transmissions, and extensions of simulators.

What would change the motion is refused; what would not (looks, sensors, software, properties of contacts) is noted.
"""

from __future__ import annotations

from .leftovers import Leftovers
from .xml_tree import Element, shortened

#: <gazebo> and links: changes the motion if true, or not zero
_SWITCHES_ON = {
    "turnGravityOff": "switches gravity off",
    "kinematic": "moves without forces",
    "static": "stands still",
    "enable_wind": "feels wind",
    "springStiffness": "has a spring",
    "dampingFactor": "loses velocity in every step",
}
_SWITCHES_OFF = {"gravity": "switches gravity off"}  # changes it if false
#: <gazebo>: looks, sensors, software, contacts, limits and how they are solved
_GAZEBO = {
    "canonicalBody", "cfmDamping", "cfm_damping", "collision", "disableFixedJointLumping", "fdir1", "fudgeFactor", "implicitSpringDamper",
    "initial_joint_position", "kd", "kp", "laserRetro", "material", "maxContacts", "maxVel", "max_contacts", "minDepth", "mu", "mu1", "mu2",
    "plugin", "preserveFixedJoint", "provideFeedback", "selfCollide", "self_collide", "sensor", "springReference", "stopCfm", "stopErp",
    "stopKd", "stopKp", "visual",
}  # fmt: skip
_GAZEBO_PREFIXES = ("sensor:", "controller:")  # of the gazebo of 2010
_LINK = {"contact", "surface", "self_filter", "collision_checking", "verbose"}  # properties of contacts, of sensors, of planners
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


def check_robot(robot: Element, leftovers: Leftovers) -> None:
    """Everything directly inside <robot> but links, joints and materials."""
    for element in robot.children:
        if element.tag == "transmission":
            leftovers.aside(element, "of transmissions rotor inertias are used: joint forces act on the joints themselves")
        elif element.tag == "ros2_control":
            leftovers.aside(element, "<ros2_control> is not used: it describes software")
        elif element.tag == "gazebo":
            _gazebo(element, leftovers)
        elif element.tag == "sensor":
            leftovers.aside(element, "sensors are not used")
        elif element.tag not in ("link", "joint", "material"):
            leftovers.refuse("extensions", element, f"{element} is unknown inside of <robot>")


def check_link(child: Element, link: str, leftovers: Leftovers) -> None:
    """A child of a link that is none of inertial, visual and collision."""
    if child.tag in _LINK:
        leftovers.aside(child, f"{child} of links is not used: contacts, sensors and planners are not simulated")
    elif child.tag in _SWITCHES_ON or child.tag in _SWITCHES_OFF:
        _switch(child, f"link {link!r}", "extensions", leftovers)
    elif not (child.tag == "origin" and not any(child.numbers("xyz", 3, (0.0,) * 3) + child.numbers("rpy", 3, (0.0,) * 3))):
        leftovers.refuse("extensions", child, f"{child} is unknown inside of link {link!r}")


def check_joint(child: Element, joint: str, leftovers: Leftovers) -> None:
    """A child of a joint that URDF does not define, or which only controllers use."""
    if child.tag in ("calibration", "safety_controller"):
        leftovers.aside(child, f"{child} is not used: it describes software")
    else:
        leftovers.refuse("extensions", child, f"{child} is unknown inside of joint {joint!r}")


def check_dynamics(dynamics: Element, joint: str, leftovers: Leftovers) -> None:
    """Attributes of <dynamics> that URDF does not define."""
    for name, value in dynamics.attributes.items():
        if name not in ("damping", "friction") and dynamics.number(name, infinite=True) != 0.0:
            given = f'{shortened(name)}="{shortened(value)}"'
            leftovers.refuse("dynamics", dynamics, f"joint {joint!r}: {given} of <dynamics> is not part of URDF")


def _gazebo(gazebo: Element, leftovers: Leftovers) -> None:
    on = gazebo.attributes.get("reference")
    what = f"<gazebo> of {shortened(on)!r}" if on else "<gazebo>"
    for element in gazebo.children:
        if element.tag in _SWITCHES_ON or element.tag in _SWITCHES_OFF:
            _switch(element, what, "gazebo", leftovers)
        elif element.tag in _GAZEBO or element.tag.startswith(_GAZEBO_PREFIXES):
            leftovers.aside(element, "parts of <gazebo> on looks, sensors, software, contacts and limits are not used")
        else:
            leftovers.refuse("gazebo", element, f"{what} has {element}, which may change the motion")


def _switch(element: Element, owner: str, kind: str, leftovers: Leftovers) -> None:
    given = (element.text.strip() or element.attributes.get("value", "")).strip().lower()
    if element.tag in _SWITCHES_ON:
        meaning, harmless = _SWITCHES_ON[element.tag], given in ("", *_FALSE) or _is_zero(given)
    else:
        meaning, harmless = _SWITCHES_OFF[element.tag], given in ("", *_TRUE) or (_is_number(given) and not _is_zero(given))
    if not harmless:
        leftovers.refuse(kind, element, f"{owner} {meaning} ({element})")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_zero(text: str) -> bool:
    return _is_number(text) and float(text) == 0.0
