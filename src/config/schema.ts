import type { ControllerLogChoice, OnTimeoutChoice, PauseChoice } from './choices.ts';
import type { RouteChoice } from './route-choice.ts';

/** The settings of devloop.yaml. All are optional: what is absent is discovered. */
export interface Config {
  context?: string;
  namespace?: string;
  service?: string | string[];
  deployment?: string;
  pause?: PauseChoice;
  route?: RouteChoice;
  address?: string;
  port?: number;
  allowFrom?: string[];
  relayImage?: string;
  onTimeout?: OnTimeoutChoice;
  redact?: string[];
  certificates?: { secret?: string; directory?: string };
  controller?: {
    package?: string;
    build?: string[];
    run?: string[];
    watch?: string[];
    env?: Record<string, string>;
    readySeconds?: number;
    log?: ControllerLogChoice;
  };
}

export type FieldKind =
  | 'text'
  | 'texts'
  | 'text or texts'
  | 'port'
  | 'address'
  | 'networks'
  | 'image'
  | 'paths'
  | 'route'
  | 'pause'
  | 'on timeout'
  | 'controller log'
  | 'seconds'
  | 'command'
  | 'variables';

export interface Field {
  kind: FieldKind;
  about: string;
}

export interface Section {
  kind: 'section';
  about: string;
  fields: Record<string, Field>;
}

export type Schema = Record<string, Field | Section>;

type Fields<T> = { [K in keyof Required<T>]: Field };
type SchemaOf<T> = {
  [K in keyof Required<T>]: K extends 'certificates' | 'controller'
    ? { kind: 'section'; about: string; fields: Fields<Required<T>[K]> }
    : Field;
};

/** The table of all settings, from which they are validated. The compiler ensures that it has the same keys as `Config`. */
export const SCHEMA = {
  context: { kind: 'text', about: 'Context of the kubeconfig.' },
  namespace: { kind: 'text', about: 'Namespace of the operator.' },
  service: { kind: 'text or texts', about: 'Webhook Service, or several, as `[namespace/]name`.' },
  deployment: {
    kind: 'text',
    about: 'Deployment (or StatefulSet, DaemonSet) of the operator, as `[namespace/]name`.',
  },
  pause: {
    kind: 'pause',
    about: 'How to pause the in-cluster manager: auto, lease or none. Default: auto.',
  },
  route: {
    kind: 'route',
    about: 'Route from the cluster to this machine. Default: the first one that works.',
  },
  address: {
    kind: 'address',
    about: 'Address of this machine, or of the SSH host, for the cluster to call.',
  },
  port: { kind: 'port', about: 'Port for the cluster to call. Default: any free one.' },
  allowFrom: {
    kind: 'networks',
    about: 'Networks that are allowed to connect to that port (CIDR). Default: all.',
  },
  relayImage: { kind: 'image', about: 'Image for the relay Pod; it must contain Node.' },
  onTimeout: {
    kind: 'on timeout',
    about:
      'Answer to a review that the controller does not answer in time: fail, allow or deny. Default: fail.',
  },
  redact: {
    kind: 'paths',
    about: 'JSONPaths of other values to replace before a review is recorded, such as .spec.card.number.',
  },
  certificates: {
    kind: 'section',
    about: "The webhook's key pair.",
    fields: {
      secret: { kind: 'text', about: 'Secret that holds it, as `[namespace/]name`.' },
      directory: { kind: 'text', about: 'Directory where the controller looks for it.' },
    },
  },
  controller: {
    kind: 'section',
    about: 'How the controller is built and run.',
    fields: {
      package: {
        kind: 'text',
        about: 'Its main package, such as ./cmd/manager. Default: discovered.',
      },
      build: { kind: 'command', about: 'Command that builds it.' },
      run: {
        kind: 'command',
        about: "Command that runs it. The word `{args}` stands for the manager's arguments.",
      },
      watch: { kind: 'texts', about: 'Files and directories to watch, relative to devloop.yaml.' },
      env: { kind: 'variables', about: "Environment variables, added to the manager's." },
      log: {
        kind: 'controller log',
        about: 'Which lines of its log are shown: all, warnings or off. Default: all.',
      },
      readySeconds: {
        kind: 'seconds',
        about: 'Seconds within which it must answer on its webhook port. Default: 120.',
      },
    },
  },
} as const satisfies SchemaOf<Config>;
