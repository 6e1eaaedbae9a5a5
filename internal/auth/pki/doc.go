// Package pki issues and stores the certificates of one control plane: an authority (CA), the certificate of
// its server, and the client certificate of its administrator. It also stores the key that signs the tokens of service
// accounts, and the authority of the front proxy.
//
// [Open] stores them in a directory, issues missing certificates on first start and renews those about to expire; [New]
// holds them in memory. Both use the standard library for all cryptography. The package serves a single
// process: the caller of Open must hold a lock on the directory. It does not authenticate (package auth
// does), opens no socket and writes no kubeconfig.
package pki
