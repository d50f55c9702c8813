"""lit's view of the scripts of this folder: each of their cases is a test,
Execute/SCRIPT/CASE. A module of its own, for lit hands tests to other processes.
"""

import os
import subprocess

import lit.formats
import lit.Test
import lit.util

SCRIPTS = ("pytorch", "matrix", "faults", "drawn", "conformance", "options")
FOLDER = os.path.dirname(os.path.abspath(__file__))


class Cases(lit.formats.ShTest):
    """The folder's .test files, and the scripts' cases."""

    def __init__(self, python):
        super().__init__(execute_external=False)
        self.python = python

    def command(self, script, *arguments):
        return [self.python, os.path.join(FOLDER, f"{script}.py"), *arguments]

    def getTestsInDirectory(self, suite, path, lit_config, local_config):
        yield from super().getTestsInDirectory(suite, path, lit_config, local_config)
        if suite.getSourcePath(path) != FOLDER:
            return
        for script in SCRIPTS:
            names = subprocess.run(self.command(script, "--list"), stdout=subprocess.PIPE, text=True, check=True).stdout
            for name in names.split():
                yield lit.Test.Test(suite, path + (script, name), local_config)

    def execute(self, test, lit_config):
        script, name = test.path_in_suite[-2:]
        if script not in SCRIPTS:
            return super().execute(test, lit_config)
        command = self.command(script, "--build", test.config.galv_obj_root, name)
        try:
            output, errors, code = lit.util.executeCommand(
                command, env=test.config.environment, timeout=lit_config.maxIndividualTestTime)
        except lit.util.ExecuteCommandTimeoutException as late:
            return lit.Test.TIMEOUT, late.out + late.err
        return lit.Test.FAIL if code else lit.Test.PASS, output + errors
