import type { Work } from '../../cluster/work.ts';
import type { RouteChoice } from '../../config/route-choice.ts';
import type { Target } from '../../operator/target.ts';
import type { Route } from '../../route/route.ts';
import type { CommandContext } from '../context/context.ts';
import type { Ask, RouteOptions } from '../context/options.ts';
import type { Gateways } from './gateways.ts';

/** A way of which it is known that the account may take it. */
export type Way = Exclude<RouteChoice, 'auto'>;

/** What every way needs to be opened and proven. */
export interface Routing extends Work {
  target: Target;
  settings: RouteSettings;
  env: Record<string, string | undefined>;
  /** Absent without a terminal. */
  ask?: Ask | undefined;
  /** How many probes in a row prove a way; one where absent. */
  inARow?: number;
}

export interface RouteSettings {
  choice: RouteChoice;
  /** What the cluster shall call. */
  address?: string | undefined;
  port?: number | undefined;
  relayImage?: string | undefined;
}

/** A way that was proven, with the gateways at its end. Disposing closes both. */
export interface OpenRoute extends AsyncDisposable {
  route: Route;
  gateways: Gateways;
}

/** Flags beat the file. */
export function routeSettings(options: RouteOptions, { config }: CommandContext): RouteSettings {
  return {
    choice: options.route ?? config.route ?? 'auto',
    address: options.address ?? config.address,
    port: options.port ?? config.port,
    relayImage: options.relayImage ?? config.relayImage,
  };
}

export function nameOf(way: Way): 'direct' | 'relay' | 'ssh' {
  return typeof way === 'string' ? way : 'ssh';
}
