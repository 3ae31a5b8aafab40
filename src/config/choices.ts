/** How the in-cluster manager is paused: according to the owner of its Pods, by its leader election Lease, or not at all. */
export const PAUSE_CHOICES = ['auto', 'lease', 'none'] as const;
export type PauseChoice = (typeof PAUSE_CHOICES)[number];

/** Which lines of the controller's log are shown: `warnings` means warnings and errors. */
export const CONTROLLER_LOG_CHOICES = ['all', 'warnings', 'off'] as const;
export type ControllerLogChoice = (typeof CONTROLLER_LOG_CHOICES)[number];

/** How the controller reaches the API server: through devloop's API proxy, or by itself. */
export const API_CHOICES = ['proxy', 'direct'] as const;

/** What devloop answers if the controller does not answer a review within its timeout: an error, or a verdict. */
export const ON_TIMEOUT_CHOICES = ['fail', 'allow', 'deny'] as const;
export type OnTimeoutChoice = (typeof ON_TIMEOUT_CHOICES)[number];
