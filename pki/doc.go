// Package pki owns the certificates of an application: its own key and certificate, the lists that say
// whom it trusts, the store of those it refused, and the decision over a peer's certificate.
//
// A store is a folder:
//
//	own/cert.der                   the application instance certificate (Part 6, 6.2.2)
//	own/key.pem                    its private key
//	trusted/certs, trusted/crl     peers, and authorities whose peers are trusted
//	issuer/certs, issuer/crl       authorities that complete a chain but give no trust
//	trustedUser, issuerUser        the same for users that log in with a certificate
//	rejected/                      what was refused, named by thumbprint, to be moved into trusted/certs
//
// Certificates and revocation lists may be DER or PEM, whatever their file is called. What is
// added on disk is seen before the next refusal, what is removed within a second or two. What decides is always the content: no name or text out of a peer's
// certificate ever becomes a path.
//
// [Store.Validate] follows the steps of Part 4, 6.1.3. A peer that is not trusted learns no more than
// BadSecurityChecksFailed (Part 6, 6.7.6); the log has the reason and what to do about it.
//
// The package neither signs nor decrypts messages: that is codec/uasc.
package pki
