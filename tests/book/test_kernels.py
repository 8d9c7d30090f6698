"""Notebooks' kernels as the tests start them: forked, each a group of processes of its own."""

import os

import psutil
from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import LocalProvisioner
from support.waiting import alive, until


def test_a_forked_kernel_has_imported_pytorch_draws_inline_and_ends_alone() -> None:
    manager, client = start_new_kernel(kernel_name="python3")
    assert isinstance(manager.provisioner, LocalProvisioner)
    pid = manager.provisioner.pid
    assert pid
    asked = {"torch": "'torch' in __import__('sys').modules", "drawn": "__import__('matplotlib').get_backend()"}
    try:
        found = client.execute("", user_expressions=asked, reply=True)["content"]["user_expressions"]
        assert {name: answer["data"]["text/plain"] for name, answer in found.items()} == {
            "torch": "True",
            "drawn": "'module://matplotlib_inline.backend_inline'",
        }
        assert os.getpgid(pid) == pid
    finally:
        kernel = psutil.Process(pid)
        client.stop_channels()
        manager.shutdown_kernel()
    until(lambda: not alive(kernel), seconds=10)
