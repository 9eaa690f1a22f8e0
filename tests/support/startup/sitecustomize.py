"""What Python runs first in a process with the environment of `kills`."""

from tests.support.kills import die_as_environment_says

die_as_environment_says()
