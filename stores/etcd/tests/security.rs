//! Credentials and TLS, as etcd has them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{fresh_url, get, open, put};
use etcd_client::{Client, Permission};
use orbweaver_etcd::EtcdStore;
use orbweaver_remote::block_on;
use orbweaver_servers::{EtcdCluster, EtcdTls};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::path::{Path, PathBuf};

fn error(url: &str) -> String {
    EtcdStore::open(url).err().expect("a store that is not opened").to_string()
}

/// Users root and app, of which app may read and write the keys of `shop`.
async fn enable_auth(hosts: &[&str]) -> Result<(), etcd_client::Error> {
    let mut client = Client::connect(hosts, None).await?;
    client.user_add("root", "secret", None).await?;
    client.user_grant_role("root", "root").await?;
    client.role_add("shop").await?;
    client.role_grant_permission("shop", Permission::read_write("shop/").with_prefix()).await?;
    client.user_add("app", "p@ss:word", None).await?;
    client.user_grant_role("app", "shop").await?;
    client.auth_enable().await?;
    Ok(())
}

#[test]
fn users_have_the_rights_that_etcd_gives_them() {
    let cluster = EtcdCluster::start(&[]).unwrap();
    let hosts = cluster.hosts();
    block_on(enable_auth(&hosts.split(',').collect::<Vec<_>>())).unwrap().unwrap();

    let store = EtcdStore::open(&format!("etcd://app:p%40ss%3Aword@{hosts}/shop")).unwrap();
    let (mut handle, data) = open(&store);
    put(&mut handle, data, b"key", b"value").unwrap();
    assert_eq!(get(&mut handle, data, b"key").unwrap().unwrap(), &b"value"[..]);
    assert!(error(&format!("etcd://app:p%40ss%3Aword@{hosts}/elsewhere")).contains("permission denied"));
    assert!(error(&format!("etcd://app:wrong@{hosts}/shop")).contains("invalid user ID or password"));
    assert!(error(&format!("etcd://{hosts}/shop")).contains("etcd: "));
}

/// Files of PEM: a certificate, and the key that belongs to it.
struct Signed {
    certificate: PathBuf,
    key: PathBuf,
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: PathBuf,
}

impl Authority {
    fn new(directory: &Path) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages.extend([KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign]);
        let key = KeyPair::generate().unwrap();
        let certificate = directory.join("ca.pem");
        std::fs::write(&certificate, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn sign(&self, directory: &Path, name: &str) -> Signed {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.use_authority_key_identifier_extension = true;
        params.key_usages.push(KeyUsagePurpose::DigitalSignature);
        params.extended_key_usages.extend([ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]);
        let key = KeyPair::generate().unwrap();
        let files = Signed { certificate: directory.join(format!("{name}.pem")), key: directory.join(format!("{name}-key.pem")) };
        std::fs::write(&files.certificate, params.signed_by(&key, &self.issuer).unwrap().pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }
}

#[test]
fn tls_proves_who_the_server_is_and_who_the_client_is() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new(directory.path());
    let (server, client) = (authority.sign(directory.path(), "server"), authority.sign(directory.path(), "client"));
    let tls = EtcdTls { certificate: server.certificate, key: server.key, clients: Some(authority.certificate.clone()) };
    let cluster = EtcdCluster::start_with_tls(&tls).unwrap();

    let (ca, url) = (authority.certificate.display(), fresh_url(&cluster));
    assert!(url.starts_with("etcds://"));
    let identity = format!("cert={}&key={}", client.certificate.display(), client.key.display());
    let store = EtcdStore::open(&format!("{url}?ca={ca}&{identity}")).unwrap();
    let (mut handle, data) = open(&store);
    put(&mut handle, data, b"key", b"value").unwrap();
    assert_eq!(get(&mut handle, data, b"key").unwrap().unwrap(), &b"value"[..]);

    error(&format!("{url}?ca={ca}&timeout=1s"));
    error(&format!("{url}?{identity}&timeout=1s"));
    error(&format!("{}?timeout=1s", url.replace("etcds://", "etcd://")));
}
