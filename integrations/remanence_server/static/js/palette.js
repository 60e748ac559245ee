// The colours of communities and kinds on the map, for light and for dark.

const LIGHT = ["#a8431f", "#2f6f73", "#86691a", "#5b5a9c", "#5f7324", "#9c4a72", "#3a6aa0", "#7a5a3c", "#39764f", "#7d5e8c"];
const DARK = ["#e88a62", "#7fc0c2", "#d9b95f", "#a9a7e6", "#b4c96f", "#dd93b8", "#8fb8e8", "#c9a684", "#8fcda5", "#c7a6d6"];
const KINDS = ["person", "place", "organization", "thing", "product", "event", "date", "code", "url"];
const KIND_NAMES = { person: "People", place: "Places", organization: "Organisations", thing: "Things", product: "Products", event: "Events", date: "Dates", code: "Codes", url: "Addresses" };

const colors = () => (document.documentElement.dataset.theme === "dark" ? DARK : LIGHT);

/** The colour of a community; those beyond the tenth have the colours again. */
export const communityColor = (number) => colors()[number % LIGHT.length];
export const kindColor = (kind) => colors()[Math.max(0, KINDS.indexOf(kind)) % LIGHT.length];
export const kindLabel = (kind) => KIND_NAMES[kind] ?? kind;
export const kindOrder = (kind) => (KINDS.includes(kind) ? KINDS.indexOf(kind) : KINDS.length);
