// Package image writes a static binary as an OCI image layout, standard library only: no registry, no Docker.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

const mediaType = "application/vnd.oci.image."

type object = map[string]any

// blobs is the content of the image by digest.
type blobs map[string][]byte

func (b blobs) put(kind string, content []byte) object {
	digest := fmt.Sprintf("%x", sha256.Sum256(content))
	b[digest] = content
	return object{"mediaType": mediaType + kind, "digest": "sha256:" + digest, "size": len(content)}
}

// Write makes an image whose only layer is the binary, run as /<its name> by the user that distroless calls nonroot.
func Write(ref, binary, out string) error {
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	entrypoint := "/" + filepath.Base(binary)
	layer, err := layerOf(entrypoint, content)
	if err != nil {
		return err
	}
	packed, err := compress(layer)
	if err != nil {
		return err
	}
	all := blobs{}
	config := all.put("config.v1+json", encode(object{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": object{"Entrypoint": []string{entrypoint}, "User": "65532:65532"},
		"rootfs": object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	}))
	manifest := all.put("manifest.v1+json", encode(object{
		"schemaVersion": 2, "mediaType": mediaType + "manifest.v1+json",
		"config": config, "layers": []object{all.put("layer.v1.tar+gzip", packed)},
	}))
	manifest["annotations"] = object{"io.containerd.image.name": ref, "org.opencontainers.image.ref.name": ref}
	index := encode(object{"schemaVersion": 2, "mediaType": mediaType + "index.v1+json", "manifests": []object{manifest}})
	return writeLayout(out, index, all)
}

func layerOf(entrypoint string, content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	// Controllers write certificates and scratch files below /tmp.
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}); err != nil {
		return nil, err
	}
	if err := addFile(archive, entrypoint[1:], 0o755, content); err != nil {
		return nil, err
	}
	err := archive.Close() // writes the end of the archive
	return buffer.Bytes(), err
}

// compress takes the fastest level: the image is read once, on this machine.
func compress(content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	writer, err := gzip.NewWriterLevel(&buffer, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	err = writer.Close() // writes the checksum
	return buffer.Bytes(), err
}

func writeLayout(out string, index []byte, all blobs) error {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewWriter(file)
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index}
	for digest, content := range all {
		files["blobs/sha256/"+digest] = content
	}
	for name, content := range files {
		if err := addFile(archive, name, 0o644, content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func addFile(archive *tar.Writer, name string, mode int64, content []byte) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // maps of strings and numbers always encode
	}
	return text
}
