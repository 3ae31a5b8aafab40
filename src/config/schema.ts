import type { ControllerLogChoice, OnTimeoutChoice, PauseChoice } from './choices.ts';
import type { RouteChoice } from './route-choice.ts';

/** The settings of devloop.yaml. All are optional: what is absent is discovered. The guide explains each. */
export interface Config {
  context?: string;
  allowContexts?: string[];
  namespace?: string;
  service?: string | string[];
  deployment?: string;
  pause?: PauseChoice;
  alsoPause?: string[];
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
    graceSeconds?: number;
    log?: ControllerLogChoice;
  };
}

export type FieldKind =
  | 'text'
  | 'texts'
  | 'namespace'
  | 'object'
  | 'objects'
  | 'port'
  | 'address'
  | 'networks'
  | 'image'
  | 'paths'
  | 'route'
  | 'pause'
  | 'also pause'
  | 'on timeout'
  | 'controller log'
  | 'seconds'
  | 'command'
  | 'variables';

export interface Field {
  kind: FieldKind;
}

export interface Section {
  kind: 'section';
  fields: Record<string, Field>;
}

export type Schema = Record<string, Field | Section>;

type Fields<T> = { [K in keyof Required<T>]: Field };
type SchemaOf<T> = {
  [K in keyof Required<T>]: K extends 'certificates' | 'controller'
    ? { kind: 'section'; fields: Fields<Required<T>[K]> }
    : Field;
};

/** The table of all settings, from which they are validated. The compiler ensures that it has the same keys as `Config`. */
export const SCHEMA = {
  context: { kind: 'text' },
  allowContexts: { kind: 'texts' },
  namespace: { kind: 'namespace' },
  service: { kind: 'objects' },
  deployment: { kind: 'object' },
  pause: { kind: 'pause' },
  alsoPause: { kind: 'also pause' },
  route: { kind: 'route' },
  address: { kind: 'address' },
  port: { kind: 'port' },
  allowFrom: { kind: 'networks' },
  relayImage: { kind: 'image' },
  onTimeout: { kind: 'on timeout' },
  redact: { kind: 'paths' },
  certificates: { kind: 'section', fields: { secret: { kind: 'object' }, directory: { kind: 'text' } } },
  controller: {
    kind: 'section',
    fields: {
      package: { kind: 'text' },
      build: { kind: 'command' },
      run: { kind: 'command' },
      watch: { kind: 'texts' },
      env: { kind: 'variables' },
      log: { kind: 'controller log' },
      readySeconds: { kind: 'seconds' },
      graceSeconds: { kind: 'seconds' },
    },
  },
} as const satisfies SchemaOf<Config>;
