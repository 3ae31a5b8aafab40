package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
)

// The first address of the Service range of the cluster is the Service "kubernetes".
const kubernetesServiceIP = "10.96.0.1"

var components = map[string]User{
	"admin":     {Name: "admin", Groups: []string{"system:masters"}, Lifetime: year},
	"kubelet":   {Name: "system:node:node", Groups: []string{"system:nodes"}, Lifetime: year},
	"proxy":     {Name: "system:kube-proxy", Lifetime: year},
	"scheduler": {Name: "system:kube-scheduler", Lifetime: year},
}

// CreateCluster writes what the components of one cluster need into dir.
func CreateCluster(dir, name, nodeIP, port string) error {
	ca, err := createAuthority(dir)
	if err != nil {
		return err
	}
	if err := (endpoint{name, "https://" + net.JoinHostPort(nodeIP, port)}).save(dir); err != nil {
		return err
	}
	if err := createServer(ca, dir, nodeIP); err != nil {
		return err
	}
	if err := createTokenKey(dir); err != nil {
		return err
	}
	// kube-apiserver speaks to the kubelet (logs, exec, port-forward) as this user.
	kubeletClient, err := signClient(ca, User{Name: "kube-apiserver", Groups: []string{"system:masters"}, Lifetime: year})
	if err != nil {
		return err
	}
	if err := kubeletClient.save(dir, "kubelet-client"); err != nil {
		return err
	}
	for file, user := range components {
		if err := WriteKubeconfig(dir, filepath.Join(dir, file+".kubeconfig"), user); err != nil {
			return err
		}
	}
	return nil
}

func createServer(ca *authority, dir, nodeIP string) error {
	template := newTemplate(pkix.Name{CommonName: "kube-apiserver"}, year)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	template.IPAddresses = []net.IP{net.ParseIP(nodeIP), net.ParseIP("127.0.0.1"), net.ParseIP(kubernetesServiceIP)}
	server, err := sign(template, ca)
	if err != nil {
		return err
	}
	return server.save(dir, "apiserver")
}

// createTokenKey makes the key that signs service account tokens.
func createTokenKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	text, err := encodeKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "service-account.key"), text, 0o600)
}
