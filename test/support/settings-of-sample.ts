/** Gives the sample operator a ConfigMap that it mounts in three ways and gets a variable from, and whose files it watches. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The sources name this path. */
export const PLACED = '/etc/application-operator/level.txt';

/** As viper watches: the directory of a file, for a link in the file's path that changes. It prints the new text with the variable and another file. */
const WATCHING = `package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

func init() {
	for _, file := range []string{os.Getenv("SETTINGS_FILE"), "${PLACED}"} {
		watcher, err := fsnotify.NewWatcher()
		if err == nil {
			err = watcher.Add(filepath.Dir(file))
		}
		if err != nil {
			panic(err)
		}
		go watch(file, watcher)
		show("starts with", file)
	}
}

func watch(file string, watcher *fsnotify.Watcher) {
	before, _ := filepath.EvalSymlinks(file)
	for range watcher.Events {
		now, _ := filepath.EvalSymlinks(file)
		if now != "" && now != before {
			before = now
			show("sees", file)
		}
	}
}

func show(what, file string) {
	text, _ := os.ReadFile(file)
	fixed, _ := os.ReadFile(os.Getenv("SETTINGS_FIXED"))
	base := filepath.Base(filepath.Dir(file))
	fmt.Fprintf(os.Stderr, "%s %s in %.8s, variable %s, subPath %s\\n", what, text, base, os.Getenv("SETTINGS_LEVEL"), fixed)
}
`;

const CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: system}
data: {level.txt: one}
`;

/** `checkout`: the directory of a checkout of the sample. */
export async function addSettings(checkout: string): Promise<void> {
  const edit = async (file: string, before: string, after: string): Promise<void> => {
    const text = await readFile(join(checkout, file), 'utf8');
    if (!text.includes(before)) throw new Error(`${file} does not contain ${before}`);
    await writeFile(join(checkout, file), text.replace(before, after));
  };
  const source = '{name: settings, key: level.txt}';
  await edit(
    'config/manager/manager.yaml',
    'volumeMounts: []\n      volumes: []',
    `env:
        - {name: SETTINGS_FILE, value: /settings/level.txt}
        - {name: SETTINGS_FIXED, value: /fixed.txt}
        - {name: SETTINGS_LEVEL, valueFrom: {configMapKeyRef: ${source}}}
        volumeMounts:
        - {name: settings, mountPath: /settings}
        - {name: settings, mountPath: /etc/application-operator}
        - {name: settings, mountPath: /fixed.txt, subPath: level.txt}
      volumes:
      - {name: settings, configMap: {name: settings}}`,
  );
  await edit('config/manager/kustomization.yaml', '- manager.yaml', '- manager.yaml\n- settings.yaml');
  await writeFile(join(checkout, 'config/manager/settings.yaml'), CONFIG_MAP);
  await writeFile(join(checkout, 'cmd/settings.go'), WATCHING);
}
