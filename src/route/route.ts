/** Where the cluster has to send what shall arrive here: to an address, or to the Pods with these labels. */
export type RouteTarget = { address: string } | { pods: Record<string, string> };

/** A way from the cluster to the gateways on this machine. It mends itself after a drop, and says so with events. */
export interface Route extends AsyncDisposable {
  readonly name: 'direct' | 'ssh' | 'relay';
  /** The other end, for people: `10.0.0.5`, `dev@bastion.example.com`, `Pod shop/devloop-relay-4f2a`. */
  readonly via: string;
  readonly reach: RouteTarget;
  /** The port that the cluster has to call to reach this port of a gateway. */
  portFor(gatewayPort: number): number;
  /** The listener is called whenever the way stands again after a drop; `portFor` may answer otherwise then. */
  onMended(listener: () => void): void;
  /** What this end can tell about why the cluster does not get through, and what cures it. */
  explain(): Promise<Explanation | undefined>;
}

export interface Explanation {
  cause: string;
  hint: string;
}
