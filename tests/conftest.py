from hypothesis import settings

# A busy machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_addoption(parser):
    parser.addoption(
        "--refresh-golden",
        action="store_true",
        help="rewrite tests/golden from what the queries answer now",
    )
