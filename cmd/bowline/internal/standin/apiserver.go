package standin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// APIServer runs bowline in place of kube-apiserver until ctx is done. It returns an error if the arguments
// are invalid or the server cannot start.
func APIServer(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s apiServer
	flags := s.flags(stdout)
	if done, err := parse(flags, args); done {
		return err
	}
	certificates, err := s.tls()
	if err != nil {
		return err
	}
	if err := claim(ctx, s.etcd); err != nil {
		return err
	}
	level := slog.LevelInfo
	if s.verbosity >= 4 {
		level = slog.LevelDebug
	}
	plane, err := bowline.Start(ctx, bowline.Options{
		Listen: net.JoinHostPort(s.bindAddress, s.port), TLS: certificates,
		Logger: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})),
		// As with envtest, there is no controller manager: suites finalize their namespaces themselves.
		Controllers: []string{bowline.NoControllers},
		Admission:   s.admission,
		API:         s.api,
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %s of %s is in use by another program", s.port, s.bindAddress)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "bowline runs in place of kube-apiserver on %s; objects are in memory only\n",
		plane.Addr())
	<-ctx.Done()
	return plane.Close()
}

// parse parses the arguments. If done is true, the caller returns err, which is nil after --help. Empty
// arguments are skipped, as the real programs do: the flag templates of old suites can produce them.
func parse(flags flagSet, args []string) (done bool, err error) {
	err = flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return true, nil
	case err != nil:
		return true, fmt.Errorf("%s: %w (see %[1]s --help for the flags that bowline supports)", flags.Name(), err)
	}
	for _, arg := range flags.Args() {
		if arg != "" {
			return true, fmt.Errorf("%s takes no arguments, got %q", flags.Name(), arg)
		}
	}
	return false, nil
}

// readAll reads a file of certificates, which may be a pipe.
func readAll(path string) ([]byte, error) {
	const most = 4 << 20
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return text, err
}

// tls returns a configuration with the server's certificate and the authority of the client certificates.
func (s *apiServer) tls() (*tls.Config, error) {
	certFile, keyFile := s.certFile, s.keyFile
	if certFile == "" && keyFile == "" {
		if s.certDir == "" {
			return nil,
				errors.New("kube-apiserver: no server certificate: name its folder with --cert-dir, " +
					"or --tls-cert-file and --tls-private-key-file")
		}
		certFile, keyFile = filepath.Join(s.certDir, "apiserver.crt"), filepath.Join(s.certDir, "apiserver.key")
	}
	certificate, certErr := readAll(certFile)
	key, keyErr := readAll(keyFile)
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, fmt.Errorf("kube-apiserver: reading the server's certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: the server's certificate %s: %w", certFile, err)
	}
	if s.clientCA == "" {
		return nil, errors.New("kube-apiserver: no client could authenticate: name an authority with --client-ca-file")
	}
	text, err := readAll(s.clientCA)
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: reading --client-ca-file: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("kube-apiserver: --client-ca-file %s contains no certificate", s.clientCA)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, CipherSuites: pki.CipherSuites(), NextProtos: []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequestClientCert, ClientCAs: authorities,
	}, nil
}
