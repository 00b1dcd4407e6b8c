"""Gymnasium environments, and the parts for composing your own tasks; see docs/custom_tasks.md.

Each public name is listed once, below, where type checkers look; it is imported when first used.
"""

from typing import TYPE_CHECKING

from pbd_gym.runtime.lazy import public_names

if TYPE_CHECKING:
    from pbd_gym.envs.cloth.carry import ClothConfig as ClothConfig
    from pbd_gym.envs.cloth.carry import ClothEnv as ClothEnv
    from pbd_gym.envs.cloth.carry import ClothVectorEnv as ClothVectorEnv
    from pbd_gym.envs.cloth.clutter import ClothClutterConfig as ClothClutterConfig
    from pbd_gym.envs.cloth.clutter import ClothClutterEnv as ClothClutterEnv
    from pbd_gym.envs.cloth.clutter import ClothClutterVectorEnv as ClothClutterVectorEnv
    from pbd_gym.envs.cloth.drop import ClothDropConfig as ClothDropConfig
    from pbd_gym.envs.cloth.drop import ClothDropEnv as ClothDropEnv
    from pbd_gym.envs.cloth.drop import ClothDropVectorEnv as ClothDropVectorEnv
    from pbd_gym.envs.cloth.flatten import ClothFlattenEnv as ClothFlattenEnv
    from pbd_gym.envs.cloth.flatten import ClothFlattenPickPlaceEnv as ClothFlattenPickPlaceEnv
    from pbd_gym.envs.cloth.flatten import ClothFlattenPickPlaceVectorEnv as ClothFlattenPickPlaceVectorEnv
    from pbd_gym.envs.cloth.flatten import ClothFlattenVectorEnv as ClothFlattenVectorEnv
    from pbd_gym.envs.cloth.folding.fold import ClothFoldConfig as ClothFoldConfig
    from pbd_gym.envs.cloth.folding.fold import ClothFoldEnv as ClothFoldEnv
    from pbd_gym.envs.cloth.folding.fold import ClothFoldVectorEnv as ClothFoldVectorEnv
    from pbd_gym.envs.cloth.folding.fold_crumpled import ClothFoldCrumpledEnv as ClothFoldCrumpledEnv
    from pbd_gym.envs.cloth.folding.fold_crumpled import ClothFoldCrumpledVectorEnv as ClothFoldCrumpledVectorEnv
    from pbd_gym.envs.cloth.folding.fold_crumpled_picture import (
        ClothFoldCrumpledPictureEnv as ClothFoldCrumpledPictureEnv,
    )
    from pbd_gym.envs.cloth.folding.fold_crumpled_picture import (
        ClothFoldCrumpledPictureVectorEnv as ClothFoldCrumpledPictureVectorEnv,
    )
    from pbd_gym.envs.cloth.folding.fold_diagonal import ClothFoldDiagonalEnv as ClothFoldDiagonalEnv
    from pbd_gym.envs.cloth.folding.fold_diagonal import ClothFoldDiagonalVectorEnv as ClothFoldDiagonalVectorEnv
    from pbd_gym.envs.cloth.folding.fold_drop import ClothFoldDropEnv as ClothFoldDropEnv
    from pbd_gym.envs.cloth.folding.fold_drop import ClothFoldDropVectorEnv as ClothFoldDropVectorEnv
    from pbd_gym.envs.cloth.folding.fold_twice import ClothFoldTwiceConfig as ClothFoldTwiceConfig
    from pbd_gym.envs.cloth.folding.fold_twice import ClothFoldTwiceEnv as ClothFoldTwiceEnv
    from pbd_gym.envs.cloth.folding.fold_twice import ClothFoldTwiceVectorEnv as ClothFoldTwiceVectorEnv
    from pbd_gym.envs.cloth.hang import ClothHangConfig as ClothHangConfig
    from pbd_gym.envs.cloth.hang import ClothHangEnv as ClothHangEnv
    from pbd_gym.envs.cloth.hang import ClothHangVectorEnv as ClothHangVectorEnv
    from pbd_gym.envs.cloth.hang_three import ClothHangThreeConfig as ClothHangThreeConfig
    from pbd_gym.envs.cloth.hang_three import ClothHangThreeEnv as ClothHangThreeEnv
    from pbd_gym.envs.cloth.hang_three import ClothHangThreeVectorEnv as ClothHangThreeVectorEnv
    from pbd_gym.envs.cloth.manipulation import ManipulationEnv as ManipulationEnv
    from pbd_gym.envs.cloth.manipulation import ManipulationVectorEnv as ManipulationVectorEnv
    from pbd_gym.envs.cloth.manipulation import TowelGoalsConfig as TowelGoalsConfig
    from pbd_gym.envs.cloth.towel import ClothTaskConfig as ClothTaskConfig
    from pbd_gym.envs.cloth.towel import HangingTowelConfig as HangingTowelConfig
    from pbd_gym.envs.cloth.towel import HomeTowelConfig as HomeTowelConfig
    from pbd_gym.envs.cloth.towel import Towel as Towel
    from pbd_gym.envs.cloth.tshirt_fold import TShirtFoldConfig as TShirtFoldConfig
    from pbd_gym.envs.cloth.tshirt_fold import TShirtFoldEnv as TShirtFoldEnv
    from pbd_gym.envs.cloth.tshirt_fold import TShirtFoldVectorEnv as TShirtFoldVectorEnv
    from pbd_gym.envs.cloth.unfold import ClothUnfoldConfig as ClothUnfoldConfig
    from pbd_gym.envs.cloth.unfold import ClothUnfoldEnv as ClothUnfoldEnv
    from pbd_gym.envs.cloth.unfold import ClothUnfoldVectorEnv as ClothUnfoldVectorEnv
    from pbd_gym.envs.core.base.single import TaskEnv as TaskEnv
    from pbd_gym.envs.core.base.vector_env import TaskVectorEnv as TaskVectorEnv
    from pbd_gym.envs.core.data.buffers import Buffers as Buffers
    from pbd_gym.envs.core.data.buffers import Launches as Launches
    from pbd_gym.envs.core.data.buffers import prepare as prepare
    from pbd_gym.envs.core.data.hands import Hands as Hands
    from pbd_gym.envs.core.data.hands import Paddle as Paddle
    from pbd_gym.envs.core.data.modes import OBS_MODES as OBS_MODES
    from pbd_gym.envs.core.data.modes import PICKER_MODES as PICKER_MODES
    from pbd_gym.envs.core.data.modes import PIXEL_MODES as PIXEL_MODES
    from pbd_gym.envs.core.data.modes import ActionMode as ActionMode
    from pbd_gym.envs.core.data.modes import Modes as Modes
    from pbd_gym.envs.core.data.modes import ObsMode as ObsMode
    from pbd_gym.envs.core.data.randomization import LogUniform as LogUniform
    from pbd_gym.envs.core.data.randomization import Uniform as Uniform
    from pbd_gym.envs.core.data.start_bank import Handler as Handler
    from pbd_gym.envs.core.data.validation import check_numbers as check_numbers
    from pbd_gym.envs.core.parts.experts import Script as Script
    from pbd_gym.envs.core.parts.experts import Waypoint as Waypoint
    from pbd_gym.envs.core.parts.experts import actions_left as actions_left
    from pbd_gym.envs.core.parts.experts import farthest as farthest
    from pbd_gym.envs.core.parts.experts import goals_and_points as goals_and_points
    from pbd_gym.envs.core.parts.experts import grip_positions as grip_positions
    from pbd_gym.envs.core.parts.experts import grown as grown
    from pbd_gym.envs.core.parts.experts import held_particles as held_particles
    from pbd_gym.envs.core.parts.experts import paddle_actions as paddle_actions
    from pbd_gym.envs.core.parts.experts import paddle_poses as paddle_poses
    from pbd_gym.envs.core.parts.experts import picker_actions as picker_actions
    from pbd_gym.envs.core.parts.experts import sizes as sizes
    from pbd_gym.envs.core.parts.experts import transfer_actions as transfer_actions
    from pbd_gym.envs.core.parts.goals import GoalShape as GoalShape
    from pbd_gym.envs.core.parts.goals import StartGoals as StartGoals
    from pbd_gym.envs.core.parts.manipulation import ManipulationConfig as ManipulationConfig
    from pbd_gym.envs.core.parts.manipulation import Measure as Measure
    from pbd_gym.envs.core.parts.manipulation import WeightedMeasures as WeightedMeasures
    from pbd_gym.envs.core.parts.manipulation import goal_distance as goal_distance
    from pbd_gym.envs.core.parts.pickers import PickerConfig as PickerConfig
    from pbd_gym.envs.core.parts.pickers import two_pickers as two_pickers
    from pbd_gym.envs.core.parts.reaching import CarriedGoals as CarriedGoals
    from pbd_gym.envs.core.parts.reaching import ReachingConfig as ReachingConfig
    from pbd_gym.envs.core.parts.reaching import ReachingScore as ReachingScore
    from pbd_gym.envs.core.parts.reaching import SampledGoals as SampledGoals
    from pbd_gym.envs.core.parts.starts import SettledStarts as SettledStarts
    from pbd_gym.envs.core.parts.starts import StartBank as StartBank
    from pbd_gym.envs.core.spaces.pixels import Pixels as Pixels
    from pbd_gym.envs.core.task import Completion as Completion
    from pbd_gym.envs.core.task import Condition as Condition
    from pbd_gym.envs.core.task import Features as Features
    from pbd_gym.envs.core.task import Part as Part
    from pbd_gym.envs.core.task import Reduced as Reduced
    from pbd_gym.envs.core.task import Score as Score
    from pbd_gym.envs.core.task import Task as Task
    from pbd_gym.envs.core.task import World as World
    from pbd_gym.envs.core.task import put_down as put_down
    from pbd_gym.envs.pendulum import PendulumConfig as PendulumConfig
    from pbd_gym.envs.pendulum import PendulumEnv as PendulumEnv
    from pbd_gym.envs.pendulum import PendulumVectorEnv as PendulumVectorEnv
    from pbd_gym.envs.rope.align import RopeConfig as RopeConfig
    from pbd_gym.envs.rope.align import RopeEnv as RopeEnv
    from pbd_gym.envs.rope.align import RopeVectorEnv as RopeVectorEnv
    from pbd_gym.envs.rope.body import Rope as Rope
    from pbd_gym.envs.rope.body import RopeTaskConfig as RopeTaskConfig
    from pbd_gym.envs.rope.push import RopePushConfig as RopePushConfig
    from pbd_gym.envs.rope.push import RopePushEnv as RopePushEnv
    from pbd_gym.envs.rope.push import RopePushVectorEnv as RopePushVectorEnv
    from pbd_gym.envs.rope.shape import RopeShapeConfig as RopeShapeConfig
    from pbd_gym.envs.rope.shape import RopeShapeEnv as RopeShapeEnv
    from pbd_gym.envs.rope.shape import RopeShapeVectorEnv as RopeShapeVectorEnv
    from pbd_gym.envs.rope.straighten import RopeStraightenEnv as RopeStraightenEnv
    from pbd_gym.envs.rope.straighten import RopeStraightenVectorEnv as RopeStraightenVectorEnv
    from pbd_gym.envs.rope.tie import RopeTieEnv as RopeTieEnv
    from pbd_gym.envs.rope.tie import RopeTieVectorEnv as RopeTieVectorEnv
    from pbd_gym.envs.rope.untie import RopeKnotConfig as RopeKnotConfig
    from pbd_gym.envs.rope.untie import RopeUntieEnv as RopeUntieEnv
    from pbd_gym.envs.rope.untie import RopeUntieVectorEnv as RopeUntieVectorEnv
    from pbd_gym.envs.rope.whip import RopeWhipConfig as RopeWhipConfig
    from pbd_gym.envs.rope.whip import RopeWhipEnv as RopeWhipEnv
    from pbd_gym.envs.rope.whip import RopeWhipVectorEnv as RopeWhipVectorEnv
    from pbd_gym.envs.soft.body import Body as Body
    from pbd_gym.envs.soft.body import SoftTaskConfig as SoftTaskConfig
    from pbd_gym.envs.soft.carry import SoftConfig as SoftConfig
    from pbd_gym.envs.soft.carry import SoftEnv as SoftEnv
    from pbd_gym.envs.soft.carry import SoftVectorEnv as SoftVectorEnv
    from pbd_gym.envs.soft.lift import SoftLiftConfig as SoftLiftConfig
    from pbd_gym.envs.soft.lift import SoftLiftEnv as SoftLiftEnv
    from pbd_gym.envs.soft.lift import SoftLiftVectorEnv as SoftLiftVectorEnv
    from pbd_gym.envs.soft.push import SoftPushConfig as SoftPushConfig
    from pbd_gym.envs.soft.push import SoftPushEnv as SoftPushEnv
    from pbd_gym.envs.soft.push import SoftPushVectorEnv as SoftPushVectorEnv
    from pbd_gym.envs.soft.shape import SoftShapeConfig as SoftShapeConfig
    from pbd_gym.envs.soft.shape import SoftShapeEnv as SoftShapeEnv
    from pbd_gym.envs.soft.shape import SoftShapeVectorEnv as SoftShapeVectorEnv
    from pbd_gym.envs.tools import demonstrations as demonstrations
    from pbd_gym.envs.tools.planning import CEMPlanner as CEMPlanner
    from pbd_gym.envs.tools.planning import CEMSettings as CEMSettings
    from pbd_gym.envs.tools.rl_games import RlGamesVecEnv as RlGamesVecEnv
    from pbd_gym.envs.tools.rl_games import register_rl_games as register_rl_games
    from pbd_gym.envs.tools.rsl_rl import RslRlVecEnv as RslRlVecEnv
    from pbd_gym.envs.tools.sb3 import make_sb3_vec_env as make_sb3_vec_env
    from pbd_gym.envs.tools.torchrl import make_torchrl_env as make_torchrl_env
    from pbd_gym.envs.water.body import Water as Water
    from pbd_gym.envs.water.body import WaterTaskConfig as WaterTaskConfig
    from pbd_gym.envs.water.pass_water import PassWaterConfig as PassWaterConfig
    from pbd_gym.envs.water.pass_water import PassWaterEnv as PassWaterEnv
    from pbd_gym.envs.water.pass_water import PassWaterVectorEnv as PassWaterVectorEnv
    from pbd_gym.envs.water.pour_line import PourLineEnv as PourLineEnv
    from pbd_gym.envs.water.pour_line import PourLineVectorEnv as PourLineVectorEnv
    from pbd_gym.envs.water.pour_soup import PourSoupConfig as PourSoupConfig
    from pbd_gym.envs.water.pour_soup import PourSoupEnv as PourSoupEnv
    from pbd_gym.envs.water.pour_soup import PourSoupVectorEnv as PourSoupVectorEnv
    from pbd_gym.envs.water.pour_water import PourWaterConfig as PourWaterConfig
    from pbd_gym.envs.water.pour_water import PourWaterEnv as PourWaterEnv
    from pbd_gym.envs.water.pour_water import PourWaterVectorEnv as PourWaterVectorEnv
    from pbd_gym.envs.water.pour_water_amount import PourWaterAmountConfig as PourWaterAmountConfig
    from pbd_gym.envs.water.pour_water_amount import PourWaterAmountEnv as PourWaterAmountEnv
    from pbd_gym.envs.water.pour_water_amount import PourWaterAmountVectorEnv as PourWaterAmountVectorEnv
    from pbd_gym.registry import register as register

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(__name__)
