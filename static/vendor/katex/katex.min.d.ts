// Ours, for the type checker only: the script exports nothing and leaves itself in the global scope.
export {};
