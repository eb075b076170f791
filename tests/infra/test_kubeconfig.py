from __future__ import annotations

from infra.kubeconfig import kubeconfig


def test_credentials_come_from_the_plugin_that_refreshes_them() -> None:
    config = kubeconfig(name="c", server="https://c.gke.goog", certificate_authority=None)
    user = config["users"][0]["user"]
    assert user["exec"]["command"] == "gke-gcloud-auth-plugin"
    assert user["exec"]["provideClusterInfo"] is True
    assert "token" not in user


def test_the_dns_endpoint_has_a_public_certificate_and_the_ip_endpoint_its_own() -> None:
    public = kubeconfig(name="c", server="https://c.gke.goog", certificate_authority=None)
    own = kubeconfig(name="c", server="https://203.0.113.1", certificate_authority="Q0E=")
    assert "certificate-authority-data" not in public["clusters"][0]["cluster"]
    assert own["clusters"][0]["cluster"]["certificate-authority-data"] == "Q0E="
