//! A certificate of a private authority, for `localhost`.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Three files, in PEM.
pub struct Certificate {
    /// The certificate of the authority.
    pub authority: String,
    pub signed: String,
    pub key: String,
}

impl Certificate {
    /// Creates an authority and a certificate that it signed.
    pub fn of_a_private_authority() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // With the name of the authority, the other certificate would look self-signed.
        params.distinguished_name.push(DnType::CommonName, "a private authority");
        let key = KeyPair::generate().expect("a key");
        let authority = params.self_signed(&key).expect("a certificate of its own");
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        Self { authority: authority.pem(), signed: certificate.pem(), key: key.serialize_pem() }
    }
}
