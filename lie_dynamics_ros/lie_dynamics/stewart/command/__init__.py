"""Commands of a Stewart platform: paths of poses, the shortest time along them within limits, stops, dry runs."""

from .path import CommandFrame as CommandFrame
from .path import CommandFrames as CommandFrames
from .path import PathPoints as PathPoints
from .path import PosePath as PosePath
from .path import leaving_path as leaving_path
from .path import levelled as levelled
from .path import line_path as line_path
from .path import screw_path as screw_path
from .path import smooth_path as smooth_path
from .path import turned_about as turned_about
from .planning import LegSetpoints as LegSetpoints
from .planning import PathError as PathError
from .planning import PathFault as PathFault
from .planning import PathReport as PathReport
from .planning import PlannedMotion as PlannedMotion
from .planning import check_path as check_path
from .planning import path_fault as path_fault
from .planning import plan_motion as plan_motion
from .planning import stopped as stopped
from .planning import time_path as time_path
from .samples import CommandLimits as CommandLimits
from .samples import PlatformLoad as PlatformLoad
from .samples import leg_forces as leg_forces
from .washout import ClassicalWashout as ClassicalWashout
from .washout import WashoutMotion as WashoutMotion
from .washout import WashoutState as WashoutState
