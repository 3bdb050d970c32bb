//! Logins and TLS of a node: certificates by the `openssl` command, listeners, and the client properties for each.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Kafka, PASSWORD, TOOL_TIME, USER, run};

/// A certificate authority, a broker certificate that it signed, and another authority that signed nothing.
pub(super) fn certificates(folder: &Path) -> Result<()> {
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n")?;
    for arguments in [
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem",
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=stranger -keyout other.key -out other-ca.pem",
        "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout broker.key -out broker.csr",
        "x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out broker.pem",
    ] {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(folder);
        run(command, TOOL_TIME)?;
    }
    let both = fs::read_to_string(folder.join("broker.key"))? + &fs::read_to_string(folder.join("broker.pem"))?;
    Ok(fs::write(folder.join("keystore.pem"), both)?)
}

impl Kafka {
    /// Adds the listeners with logins and TLS.
    pub(super) fn secure(&self, lines: &mut Vec<(String, String)>) {
        let own = [("SASL_PLAINTEXT", self.ports.sasl), ("SASL_SSL", self.ports.sasl_tls), ("SSL", self.ports.tls)];
        for (name, value) in lines.iter_mut() {
            if matches!(name.as_str(), "listeners" | "advertised.listeners") {
                own.iter().for_each(|(listener, port)| *value += &format!(",{listener}://127.0.0.1:{port}"));
            }
        }
        let mut set = |name: &str, value: String| lines.push((name.to_owned(), value));
        set(
            "listener.security.protocol.map",
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL".into(),
        );
        set("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512".into());
        for listener in ["sasl_plaintext", "sasl_ssl"] {
            let module = "org.apache.kafka.common.security";
            set(
                &format!("listener.name.{listener}.plain.sasl.jaas.config"),
                format!("{module}.plain.PlainLoginModule required user_{USER}=\"{PASSWORD}\";"),
            );
            for mechanism in ["scram-sha-256", "scram-sha-512"] {
                set(
                    &format!("listener.name.{listener}.{mechanism}.sasl.jaas.config"),
                    format!("{module}.scram.ScramLoginModule required;"),
                );
            }
        }
        set("ssl.keystore.type", "PEM".into());
        set("ssl.keystore.location", self.path("keystore.pem").display().to_string());
        set("ssl.truststore.type", "PEM".into());
        set("ssl.truststore.location", self.path("ca.pem").display().to_string());
    }

    fn login(&self, port: u16, protocol: &str, mechanism: &str) -> Vec<(String, String)> {
        [
            ("bootstrap.servers", format!("127.0.0.1:{port}")),
            ("security.protocol", protocol.to_owned()),
            ("sasl.mechanism", mechanism.to_owned()),
            ("sasl.username", USER.to_owned()),
            ("sasl.password", PASSWORD.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Client properties for a login without TLS.
    pub fn sasl(&self, mechanism: &str) -> Vec<(String, String)> {
        self.login(self.ports.sasl, "sasl_plaintext", mechanism)
    }

    /// Client properties for a login over TLS.
    pub fn sasl_tls(&self, mechanism: &str) -> Vec<(String, String)> {
        let mut properties = self.login(self.ports.sasl_tls, "sasl_ssl", mechanism);
        properties.push(("ssl.ca.location".to_owned(), self.path("ca.pem").display().to_string()));
        properties
    }

    /// Client properties for TLS without a login.
    pub fn tls(&self) -> Vec<(String, String)> {
        [
            ("bootstrap.servers", format!("127.0.0.1:{}", self.ports.tls)),
            ("security.protocol", "ssl".to_owned()),
            ("ssl.ca.location", self.path("ca.pem").display().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// File of an authority that did not sign the node's certificate.
    pub fn other_authority(&self) -> String {
        self.path("other-ca.pem").display().to_string()
    }
}
