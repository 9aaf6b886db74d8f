"""Every warning is an error in the tests; Hypothesis does not mind that the first call of a kernel loads it."""

from hypothesis import settings

settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")


def pytest_configure(config):
    config.addinivalue_line("filterwarnings", "error")
