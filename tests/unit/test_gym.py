"""Mechanisms as environments: Gymnasium's own checks, one and many agree, episodes end when they should."""

import warnings

import numpy as np
import pytest

import leastaction as la

gymnasium = pytest.importorskip("gymnasium")


def cart_pole(limit=2.0):
    mech = la.Mechanism(name="cart-pole")
    mech.add_body("cart", joint=la.Prismatic((1, 0, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_body("pole", "cart", la.Revolute((0, 1, 0)), mass=0.2, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
    mech.add_motor(la.Motor("cart", gear=10.0, limit=1.0))
    mech.add_limit("cart", -limit, limit)
    return mech.compile()


def upright(q, v, u):
    return np.cos(q[..., 1]) - 0.01 * (u**2).sum(axis=-1)


def fallen(q, v):
    return abs(q[..., 1]) > 0.5


OPTIONS = {"ended": fallen, "dt": 0.02, "substeps": 2, "duration": 1.0}


def test_gymnasium_finds_no_fault():
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # infinite bounds of observations: velocities have none
        check_env(la.gym.Environment(cart_pole(), upright, **OPTIONS), skip_render_check=True)


def test_one_and_many_agree():
    """Through two episodes each: the same starts, observations, rewards and ends, to the tolerance of the solver."""
    model, count = cart_pole(), 3
    many = la.gym.Environments(model, count, upright, **OPTIONS)
    ones = [la.gym.Environment(model, upright, **OPTIONS) for _ in range(count)]
    seen, _ = many.reset(seed=5)
    assert np.array_equal(seen, [env.reset(seed=5 + k)[0] for k, env in enumerate(ones)]) and not np.array_equal(seen[0], seen[1])
    over, ends = np.zeros(count, dtype=bool), 0
    random = np.random.default_rng(0)
    for _ in range(80):
        u = random.uniform(-1, 1, (count, 1))
        seen, reward, ended, cut_off, _ = many.step(u)
        for k, env in enumerate(ones):
            one = (env.reset()[0], 0.0, False, False) if over[k] else env.step(u[k])[:4]
            assert np.abs(seen[k] - one[0]).max() < 1e-7 and abs(reward[k] - one[1]) < 1e-7 and (ended[k], cut_off[k]) == one[2:]
        over = ended | cut_off
        ends += over.sum()
    assert ends >= 3


def test_an_episode_is_cut_off_in_time_and_ends_at_a_limit():
    env = la.gym.Environment(cart_pole(), upright, dt=0.05, duration=0.5)
    env.reset(seed=0)
    assert [env.step([0.0])[3] for _ in range(10)] == [False] * 9 + [True]
    for wall in (la.gym.Environment(cart_pole(0.1), upright), la.gym.Environments(cart_pole(0.1), 2, upright)):
        wall.reset(seed=0)
        push = np.ones(wall.action_space.shape)
        ended, told = np.False_, {}
        while not np.all(ended):
            _, _, ended, _, told = wall.step(push)
        assert "'cart'" in str(np.atleast_1d(told["why"])[0])


def test_joints_driven_directly_and_a_start_of_ones_own():
    model = la.examples.ball_chain(2).compile()
    start = lambda random: ({"link1": (np.cos(0.2), 0, np.sin(0.2), 0)}, None)
    env = la.gym.Environment(model, lambda q, v, u: -v @ v, torque={"link1": (1.0, 2.0, 3.0)}, start=start)
    assert env.action_space.high.tolist() == [1, 2, 3] and env.observation_space.shape == (model.nq + model.nv,)
    seen, _ = env.reset()
    assert seen[0] == np.cos(0.2)
    one = env.step([5.0, 0, 0])[0]  # beyond the limit: as much as there is
    env.reset()
    assert np.array_equal(one, env.step([1.0, 0, 0])[0])


@pytest.mark.parametrize(
    ("message", "given"),
    {
        "has no motors": {"model": la.examples.chain(2)},
        "has constraints: give start": {"model": la.examples.four_bar(), "torque": {"rod1": 1.0}},
        "reward = 3 is not a function": {"reward": 3},
        "no joint": {"torque": {"elbow": 1.0}},
        "give {joint: largest force}": {"torque": {}},
        "finite limits": {"torque": {"cart": 0.0}},
        "substeps = 0": {"substeps": 0},
        "dt = -1": {"dt": -1},
        "it returns": {"start": lambda random: 3},
    }.items(),
)
def test_what_is_wrong_is_named(message, given):
    model = given.pop("model").compile() if "model" in given else cart_pole()
    with pytest.raises(la.LeastActionError, match=message):
        la.gym.Environment(model, given.pop("reward", upright), **given)


def test_wrong_actions_are_named():
    env = la.gym.Environment(cart_pole(), upright)
    with pytest.raises(la.StateError, match="call reset"):
        env.step([0.0])
    env.reset()
    for wrong in ([np.nan], [0.0, 0.0], "left"):
        with pytest.raises(la.StateError, match="action"):
            env.step(wrong)
