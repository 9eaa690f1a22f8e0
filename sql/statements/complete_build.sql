-- Fill in unknown attributes of a build; the earliest commit time counts.
UPDATE builds
SET commit = coalesce(commit, $commit),
    branch = coalesce(branch, $branch),
    ordinal = coalesce(ordinal, $ordinal),
    committed_at = least(committed_at, $committed_at),
    parent = coalesce(parent, $parent),
    role = coalesce(role, $role)
WHERE name = $id
