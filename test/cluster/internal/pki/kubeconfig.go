package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// User is who a client certificate speaks for.
type User struct {
	Name     string
	Groups   []string
	Lifetime time.Duration
}

type object = map[string]any

// endpoint is kept beside the CA, so that later kubeconfigs need no more than the directory.
type endpoint struct{ Cluster, Server string }

func (e endpoint) save(dir string) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "endpoint.json"), text, 0o600)
}

func loadEndpoint(dir string) (e endpoint, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "endpoint.json"))
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(text, &e)
}

// WriteKubeconfig signs a client certificate by the CA in dir and writes a kubeconfig with it to out.
func WriteKubeconfig(dir, out string, user User) error {
	ca, err := loadAuthority(dir)
	if err != nil {
		return err
	}
	server, err := loadEndpoint(dir)
	if err != nil {
		return err
	}
	client, err := signClient(ca, user)
	if err != nil {
		return err
	}
	caPEM, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return err
	}
	// JSON is YAML: no library needed.
	text, err := json.MarshalIndent(object{
		"apiVersion": "v1", "kind": "Config", "current-context": server.Cluster,
		"clusters": []object{{"name": server.Cluster, "cluster": object{"server": server.Server, "certificate-authority-data": caPEM}}},
		"contexts": []object{{"name": server.Cluster, "context": object{"cluster": server.Cluster, "user": user.Name}}},
		"users":    []object{{"name": user.Name, "user": object{"client-certificate-data": client.certificate, "client-key-data": client.key}}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o600)
}

func signClient(ca *authority, user User) (pair, error) {
	template := newTemplate(pkix.Name{CommonName: user.Name, Organization: user.Groups}, user.Lifetime)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return sign(template, ca)
}
