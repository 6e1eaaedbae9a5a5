// Package pki makes and keeps the certificates of one control plane: an authority (CA), the certificate that its
// server shows, and the client certificate of its administrator.
//
// [Open] keeps them in a folder, makes on first start what is missing and renews what is about to expire; [New] keeps
// them in memory. Both leave every signature to the standard library. The package serves a single process: whoever
// calls Open holds the lock of the folder. It authenticates nobody (package auth does), opens no socket and writes no
// kubeconfig.
package pki
