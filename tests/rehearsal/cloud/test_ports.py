"""Ports and token are chosen once and are nobody else's."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

from rehearsal.cloud.ports import NAMES, free_ports, home_ports, home_token, is_free


def test_a_home_keeps_its_ports_and_its_token(tmp_path):
    home = tmp_path / "home"
    ports, token = home_ports(home), home_token(home)
    assert sorted(ports) == sorted(NAMES)
    assert (home_ports(home), home_token(home)) == (ports, token)
    assert (home / "token").stat().st_mode & 0o777 == 0o600


def test_callers_at_once_get_the_same_choice(tmp_path):
    with ThreadPoolExecutor(8) as callers:
        tokens = set(callers.map(lambda _: home_token(tmp_path), range(16)))
    assert len(tokens) == 1


def test_a_port_in_use_is_not_free():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        assert not is_free(listener.getsockname()[1])


def test_chosen_ports_differ():
    assert len(set(free_ports(map(str, range(50))).values())) == 50
