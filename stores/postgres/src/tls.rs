//! TLS as libpq's `sslmode` means it.

use orbweaver_engine::store::StoreError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How much is asked of the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// Nothing: nobody can listen, but anybody can answer.
    Anybody,
    /// That a trusted authority has signed it.
    Chain,
    /// As `Chain`, and that it is the host's.
    Host,
}

fn invalid(what: impl std::fmt::Display) -> StoreError {
    StoreError::Io(format!("the store's URL: {what}"))
}

/// The connector for `sslmode` and `sslrootcert`, a file of PEM or `system`. As in libpq, `prefer` is the default, and `require` checks
/// the certificate where there are roots to check it with. Without `sslrootcert` the roots are the system's.
///
/// # Errors
/// [`StoreError::Io`] for modes that are unknown, and for files that are no certificates.
pub fn connector(sslmode: Option<&str>, sslrootcert: Option<&str>) -> Result<(SslMode, MakeRustlsConnect), StoreError> {
    let (mode, trust) = match (sslmode.unwrap_or("prefer"), sslrootcert) {
        ("disable", _) => (SslMode::Disable, Trust::Anybody),
        ("prefer", _) => (SslMode::Prefer, Trust::Anybody),
        ("require", None) => (SslMode::Require, Trust::Anybody),
        ("require", Some(_)) | ("verify-ca", _) => (SslMode::Require, Trust::Chain),
        ("verify-full", _) => (SslMode::Require, Trust::Host),
        (other, _) => return Err(invalid(format_args!("sslmode={other} is none of disable, prefer, require, verify-ca, verify-full"))),
    };
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier { trust, algorithms: provider.signature_verification_algorithms, roots: roots(trust, sslrootcert, &provider)? };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok((mode, MakeRustlsConnect::new(config)))
}

fn roots(trust: Trust, file: Option<&str>, provider: &Arc<CryptoProvider>) -> Result<Option<Arc<WebPkiServerVerifier>>, StoreError> {
    if trust == Trust::Anybody {
        return Ok(None);
    }
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) if path != "system" => {
            let fault = |error: &dyn std::fmt::Display| invalid(format_args!("sslrootcert={path}: {error}"));
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| fault(&error))?;
            for certificate in certificates {
                roots.add(certificate.map_err(|error| fault(&error))?).map_err(|error| fault(&error))?;
            }
        }
        _ => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(invalid("there are no certificates to check the server's with: name a file of them, sslrootcert=FILE"));
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    verifier.map(Some).map_err(invalid)
}

/// Asks of the server's certificate what its mode asks, and no more.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    algorithms: WebPkiSupportedAlgorithms,
    /// `None` where anybody is trusted.
    roots: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        match roots.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The name is what is checked last.
            Err(Error::InvalidCertificate(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }))
                if self.trust == Trust::Chain =>
            {
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
