/** What the webhook Services have to point to: an address, or the Pods with these labels. */
export type RouteTarget = { address: string } | { pods: Record<string, string> };

/**
 * How connections from the cluster reach the gateways on this machine. An open route reconnects on its own, and emits `route.lost` and
 * `route.reconnected`.
 */
export interface Route extends AsyncDisposable {
  /** The name of its kind: `direct`, `ssh` or `relay`. */
  readonly name: string;
  /** The far end, for display only: `10.0.0.5`, `dev@bastion.example.com`, `Pod shop/devloop-relay-4f2a`. */
  readonly via: string;
  readonly target: RouteTarget;
  /** The port at the target whose connections are carried to this gateway port. */
  portFor(gatewayPort: number): number;
  /** The listener runs each time the route has reconnected. After that, `portFor` may return other ports. */
  onReconnected(listener: () => void): void;
  /** What this end knows about why kube-apiserver cannot reach the gateways; undefined if it knows nothing. */
  explain(): Promise<Explanation | undefined>;
}

export interface Explanation {
  cause: string;
  /** The next thing to do, or the command to run. */
  hint: string;
  /** Whether waiting longer would certainly change nothing. */
  isCertain?: true;
}
