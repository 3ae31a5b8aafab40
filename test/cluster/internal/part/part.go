// Package part starts one of the programs that are compiled into one binary.
package part

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
)

type Parts map[string]func() error

// Run starts the part that a link to the binary, or else its first argument, names.
func Run(parts Parts) {
	if parts[filepath.Base(os.Args[0])] == nil {
		os.Args = os.Args[1:] // each part reads os.Args itself
	}
	if len(os.Args) == 0 || parts[filepath.Base(os.Args[0])] == nil {
		fmt.Fprintf(os.Stderr, "usage: %s ...\n", strings.Join(slices.Sorted(maps.Keys(parts)), "|"))
		os.Exit(2)
	}
	name := filepath.Base(os.Args[0])
	if err := parts[name](); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}

func Command(create func() *cobra.Command) func() error {
	return func() error {
		os.Exit(cli.Run(create()))
		return nil
	}
}
