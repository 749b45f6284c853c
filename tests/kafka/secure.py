"""`SaslOverTls`: a listener with TLS, under an authority made here, and passwords: PLAIN and SCRAM."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .broker import free_port

USER, PASSWORD = "pond", "deep-water-42"

_MODULES = "org.apache.kafka.common.security"
_LISTENER = """
listener.name.secure.ssl.keystore.type=PKCS12
listener.name.secure.ssl.keystore.location={keystore}
listener.name.secure.ssl.keystore.password={password}
listener.name.secure.ssl.key.password={password}
listener.name.secure.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.secure.plain.sasl.jaas.config={modules}.plain.PlainLoginModule required {account};
listener.name.secure.scram-sha-256.sasl.jaas.config={modules}.scram.ScramLoginModule required;
"""


class SaslOverTls:
    """A `Security` of a broker."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.authority = folder / "authority.pem"
        self._folder = folder

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def format_options(self) -> tuple[str, ...]:
        return "--add-scram", f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"

    def add_listener(self, properties: str) -> str:
        keystore = self._certificate()
        properties = properties.replace(",CONTROLLER://", f",SECURE://{self.bootstrap},CONTROLLER://")
        properties = properties.replace("PLAINTEXT:PLAINTEXT\n", "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL\n")
        return properties + _LISTENER.format(
            keystore=keystore, password=PASSWORD, modules=_MODULES, account=f'user_{USER}="{PASSWORD}"'
        )

    def properties(self, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
        """Those of a client, in librdkafka's names."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority),
            "sasl.mechanism": mechanism,
            "sasl.username": USER,
            "sasl.password": password,
        }

    def _certificate(self) -> Path:
        """A certificate that is its own authority, in a store for the broker and by itself for clients."""
        store = self._folder / "keystore.p12"
        known = ("-alias", "broker", "-keystore", str(store), "-storetype", "PKCS12", "-storepass", PASSWORD)
        names = ("-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1", "-ext", "bc=ca:true")
        _keytool("-genkeypair", "-keyalg", "RSA", "-validity", "2", *names, *known)
        _keytool("-exportcert", "-rfc", "-file", str(self.authority), *known)
        return store


def _keytool(*arguments: str) -> None:
    """Java's; it comes with the broker's Java."""
    _ = subprocess.run(["keytool", *arguments], check=True, capture_output=True)
