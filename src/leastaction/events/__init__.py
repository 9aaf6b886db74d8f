"""What happens on the way: conditions that pass zero, located within the step, and functions of yours that are called now and then.

description   Event, passes, crosses: what to watch for; Occurrence: what was found
locating      the crossing step made again, shorter, until it ends where the condition is zero
watch         looks after events while steps are made
schedule      Every: a function that is called every so many steps or seconds
"""

from .description import Event, Occurrence, crosses, passes
from .schedule import Every

__all__ = ["Event", "Every", "Occurrence", "crosses", "passes"]
